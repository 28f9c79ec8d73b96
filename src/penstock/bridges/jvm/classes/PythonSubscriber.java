package penstock.bridge;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;

/**
 * A subscriber for Python: buffers what a publisher sends until a thread of Python takes it.
 *
 * <p>It asks for no more than Python has asked for, and for no more than fits. It calls the
 * publisher on threads of Java, since a publisher may send within such a call, and take its time.
 */
public final class PythonSubscriber implements Flow.Subscriber<Object> {
    private static final ExecutorService CALLERS =
            Executors.newCachedThreadPool(
                    task -> {
                        Thread thread = new Thread(task, "penstock bridge");
                        thread.setDaemon(true);
                        return thread;
                    });

    private final int capacity;
    private final ArrayDeque<Object> elements = new ArrayDeque<>();

    private Flow.Subscription subscription;
    private Thread caller; // the thread that calls the subscription, if any

    private long wanted; // by Python, and not yet asked for
    private long asked; // and not yet passed on to the subscription
    private long expected; // asked for, and not yet here

    private boolean over; // nothing more counts
    private boolean leaving; // the subscription has to be cancelled
    private boolean closed; // Python needs nothing more
    private boolean woken;
    private Throwable error;

    public PythonSubscriber(int capacity) {
        this.capacity = capacity;
    }

    // What Python calls.

    public void subscribeTo(Flow.Publisher<?> publisher) {
        CALLERS.execute(
                () -> {
                    try {
                        publisher.subscribe(this);
                    } catch (Throwable thrown) {
                        end(thrown);
                    }
                });
    }

    /** Wait until there may be something to do; false once Python needs nothing more. */
    public synchronized boolean waitForWork() throws InterruptedException {
        while (!woken && !closed) {
            wait();
        }
        woken = false;
        return !closed;
    }

    /** Let {@code waitForWork} return. */
    public synchronized void wake() {
        if (!woken) {
            woken = true;
            notifyAll();
        }
    }

    /** Ask for this many more, and take what has come; {@code null} if there is nothing. */
    public Chunk take(long more) {
        ArrayList<Object> taken;
        boolean last;
        synchronized (this) {
            wanted = sum(wanted, more);
            taken = new ArrayList<>(elements.size());
            long size = 0;
            while (!elements.isEmpty() && size < Chunk.LARGE) {
                size += Chunk.sizeOf(elements.peek());
                taken.add(elements.poll());
            }
            last = over && elements.isEmpty();
            ask();
        }
        return taken.isEmpty() && !last ? null : new Chunk(taken, last, error);
    }

    /** Python needs nothing more. */
    public synchronized void close() {
        closed = true;
        elements.clear();
        leave();
        notifyAll();
    }

    // What the publisher calls.

    @Override
    public void onSubscribe(Flow.Subscription offered) {
        Objects.requireNonNull(offered, "the subscription is null (rule 2.13)");
        synchronized (this) {
            if (subscription == null && !over) {
                subscription = offered;
                ask();
                return;
            }
        }
        offered.cancel(); // 2.5, 2.6
    }

    @Override
    public void onNext(Object element) {
        Objects.requireNonNull(element, "the element is null (rule 2.13)");
        Flow.Subscription needless = null;
        synchronized (this) {
            if (!over && expected > 0) {
                expected--;
                elements.add(element);
                wake();
            } else if (!over) {
                error = new IllegalStateException("onNext came without demand (rule 1.1)");
                leave();
                wake();
            }
            if (leaving && caller == Thread.currentThread()) {
                needless = subscription; // it sends within request, which may take its time
                subscription = null;
            }
        }
        if (needless != null) {
            needless.cancel();
        }
    }

    @Override
    public void onError(Throwable thrown) {
        end(Objects.requireNonNull(thrown, "the error is null (rule 2.13)"));
    }

    @Override
    public void onComplete() {
        end(null);
    }

    // How it works.

    private synchronized void end(Throwable thrown) {
        if (!over) {
            over = true;
            error = thrown;
            subscription = null; // 2.4
            wake();
        }
    }

    private void leave() {
        if (!over) {
            over = true;
            leaving = true;
            call();
        }
    }

    private void ask() {
        long room = capacity - expected - elements.size();
        boolean scarce = wanted > room; // then it is worth waiting for a portion
        if (over || subscription == null || scarce && room < capacity - capacity / 4) {
            return;
        }
        long more = Math.min(wanted, room);
        if (more > 0) {
            expected += more;
            asked += more;
            wanted = wanted == Long.MAX_VALUE ? wanted : wanted - more;
            call();
        }
    }

    private void call() {
        if (caller == null && subscription != null) {
            caller = Thread.currentThread(); // until the other one takes over
            CALLERS.execute(this::callInTurn);
        }
    }

    /** One call at a time (rule 2.7). */
    private void callInTurn() {
        while (true) {
            Flow.Subscription called;
            long more;
            boolean cancels;
            synchronized (this) {
                called = subscription;
                more = asked;
                asked = 0;
                if (called == null || more == 0 && !leaving) {
                    caller = null;
                    return;
                }
                caller = Thread.currentThread();
                cancels = leaving;
                if (cancels) {
                    subscription = null;
                }
            }
            try {
                if (cancels) {
                    called.cancel();
                } else {
                    called.request(more);
                }
            } catch (Throwable thrown) {
                end(thrown); // 3.15, 3.16
            }
        }
    }

    static long sum(long one, long other) {
        long sum = one + other;
        return sum < 0 ? Long.MAX_VALUE : sum; // 3.17
    }
}
