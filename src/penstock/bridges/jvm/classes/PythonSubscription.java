package penstock.bridge;

import java.util.concurrent.Flow;

/**
 * The subscription of a subscriber that is served by Python.
 *
 * <p>What the subscriber calls, on any thread, is only noted; one thread of Python waits for it.
 * Another one signals.
 */
public final class PythonSubscription implements Flow.Subscription {
    public final Opaque publisher;

    private volatile Flow.Subscriber<? super Object> subscriber;
    private volatile boolean over;

    private long requested;
    private boolean woken;
    private IllegalArgumentException illegal;

    PythonSubscription(Opaque publisher, Flow.Subscriber<? super Object> subscriber) {
        this.publisher = publisher;
        this.subscriber = subscriber;
    }

    // What the subscriber calls.

    @Override
    public synchronized void request(long n) {
        if (over) {
            return; // 3.6
        }
        if (n > 0) {
            requested = PythonSubscriber.sum(requested, n);
        } else {
            illegal =
                    new IllegalArgumentException(
                            "request(" + n + ") asks for no element; at least 1 is allowed (rule 3.9)");
            over = true;
        }
        wake();
    }

    @Override
    public synchronized void cancel() {
        over = true;
        subscriber = null; // 3.13
        wake();
    }

    // What the one thread of Python calls.

    /** Wait for a change: how much was requested since the start, or -1 if the stream is over. */
    public synchronized long waitForDemand() throws InterruptedException {
        while (!woken && !over) {
            wait();
        }
        woken = false;
        return over ? -1 : requested;
    }

    // What the other one calls.

    public void open() {
        Flow.Subscriber<? super Object> known = subscriber;
        if (known != null) {
            known.onSubscribe(this);
        }
    }

    /** Signal elements, no more than were requested. */
    public void deliver(byte[] kinds, long[] numbers, byte[] text, Object[] objects) {
        Flow.Subscriber<? super Object> known = subscriber;
        for (Object element : Chunk.elements(kinds, numbers, text, objects)) {
            if (over) {
                return;
            }
            known.onNext(element);
        }
        wake(); // there is room for more
    }

    public void complete() {
        Flow.Subscriber<? super Object> known = end();
        if (known != null) {
            known.onComplete();
        }
    }

    public void fail(Throwable error) {
        Flow.Subscriber<? super Object> known = end();
        if (known != null) {
            known.onError(error);
        }
    }

    /** The stream is over, by the subscriber; one that requested too little hears of it. */
    public void close() {
        Flow.Subscriber<? super Object> known = end();
        if (known != null && illegal != null) {
            known.onError(illegal);
        }
    }

    // How it works.

    private synchronized Flow.Subscriber<? super Object> end() {
        Flow.Subscriber<? super Object> known = subscriber;
        subscriber = null;
        over = true;
        wake();
        return known;
    }

    private synchronized void wake() {
        woken = true;
        notifyAll();
    }
}
