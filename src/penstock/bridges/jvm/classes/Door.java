package penstock.bridge;

import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/** What a thread of Python waits for: new subscribers, and objects that Java needs no more. */
public final class Door {
    private static final Object RING = new Object();
    private static final int MANY = 4096;

    private static final BlockingQueue<Object> NEWS = new LinkedBlockingQueue<>();
    private static final ConcurrentLinkedQueue<Long> SPARE = new ConcurrentLinkedQueue<>();

    private static final AtomicBoolean RUNG = new AtomicBoolean();

    private Door() {}

    static void subscribed(Departures departures) {
        NEWS.add(departures);
    }

    static void release(long identity) {
        SPARE.add(identity);
        if (RUNG.compareAndSet(false, true)) {
            ring();
        }
    }

    /** Let {@code next} return. */
    public static void ring() {
        NEWS.add(RING);
    }

    /** The next subscriber, or {@code null} if there may be objects that were released. */
    public static Departures next() throws InterruptedException {
        Object news = NEWS.take();
        return news == RING ? null : (Departures) news;
    }

    /** The identities of objects that were released; for the rest, {@code next} returns soon. */
    public static long[] takeReleased() {
        RUNG.set(false); // before the check, so that nothing is released unseen
        long[] taken = new long[MANY];
        int count = 0;
        Long identity;
        while (count < MANY && (identity = SPARE.poll()) != null) {
            taken[count++] = identity;
        }
        if (count == MANY) {
            ring();
        }
        return Arrays.copyOf(taken, count);
    }
}
