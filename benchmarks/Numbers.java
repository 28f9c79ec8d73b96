package penstock.benchmarks;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;

/** The Java side of the benchmark of the bridge: numbers, and who adds them up. */
public final class Numbers {
    private Numbers() {}

    /** Sends the numbers below a count, or their text, from a thread of its own. */
    public static Flow.Publisher<Object> below(long count, boolean asText) {
        return new SubmissionPublisher<>() {
            @Override
            public void subscribe(Flow.Subscriber<? super Object> subscriber) {
                super.subscribe(subscriber);
                Thread thread = new Thread(this::submitAll, "numbers");
                thread.setDaemon(true);
                thread.start();
            }

            private void submitAll() {
                for (long number = 0; number < count && hasSubscribers(); number++) {
                    submit(asText ? (Object) Long.toString(number) : (Object) number);
                }
                close();
            }
        };
    }

    /** How many elements a publisher sends, all of which are asked for at once. */
    public static long countOf(Flow.Publisher<Object> publisher) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(1);
        long[] count = new long[1];
        publisher.subscribe(
                new Flow.Subscriber<>() {
                    @Override
                    public void onSubscribe(Flow.Subscription subscription) {
                        subscription.request(Long.MAX_VALUE);
                    }

                    @Override
                    public void onNext(Object element) {
                        count[0]++;
                    }

                    @Override
                    public void onError(Throwable error) {
                        done.countDown();
                    }

                    @Override
                    public void onComplete() {
                        done.countDown();
                    }
                });
        done.await();
        return count[0];
    }
}
