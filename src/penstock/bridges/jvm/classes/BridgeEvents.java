package penstock.bridge;

import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/** What a thread of Python waits for: new subscribers, and objects that Java no longer needs. */
public final class BridgeEvents {
    private static final Object WAKE_UP = new Object();
    private static final int MANY = 4096;

    private static final BlockingQueue<Object> EVENTS = new LinkedBlockingQueue<>();
    private static final ConcurrentLinkedQueue<Long> RELEASED = new ConcurrentLinkedQueue<>();

    private static final AtomicBoolean WOKEN = new AtomicBoolean();

    private BridgeEvents() {}

    static void subscribed(PythonSubscription subscription) {
        EVENTS.add(subscription);
    }

    static void release(long identity) {
        RELEASED.add(identity);
        if (WOKEN.compareAndSet(false, true)) {
            wake();
        }
    }

    /** Let {@code next} return. */
    public static void wake() {
        EVENTS.add(WAKE_UP);
    }

    /** The next subscriber, or {@code null} if there may be objects that were released. */
    public static PythonSubscription next() throws InterruptedException {
        Object event = EVENTS.take();
        return event == WAKE_UP ? null : (PythonSubscription) event;
    }

    /** The identities of objects that were released; for the rest, {@code next} returns soon. */
    public static long[] takeReleased() {
        WOKEN.set(false); // before the check, so that nothing is released unseen
        long[] taken = new long[MANY];
        int count = 0;
        Long identity;
        while (count < MANY && (identity = RELEASED.poll()) != null) {
            taken[count++] = identity;
        }
        if (count == MANY) {
            wake();
        }
        return Arrays.copyOf(taken, count);
    }
}
