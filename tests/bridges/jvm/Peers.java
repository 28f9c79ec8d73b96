package penstock.peers;

import com.typesafe.config.ConfigFactory;
import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.SubmissionPublisher;
import java.util.stream.LongStream;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.stream.javadsl.AsPublisher;
import org.apache.pekko.stream.javadsl.Sink;
import org.apache.pekko.stream.javadsl.Source;
import org.reactivestreams.FlowAdapters;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;

/** The streams of others that Python talks to. */
public final class Peers {
    private static final ExecutorService THREADS =
            Executors.newCachedThreadPool(
                    task -> {
                        Thread thread = new Thread(task, "peer");
                        thread.setDaemon(true);
                        return thread;
                    });

    /** A peer: a source of numbers, and what passes elements on. */
    public interface Peer {
        /** The numbers from zero on; a failing one ends with an error. */
        Object numbers(long count, boolean failing);

        /** What a publisher sends, by way of the peer. */
        Object through(Object publisher);

        /** The first elements of what a publisher sends. */
        Object first(Object publisher, long count);
    }

    private static RuntimeException broken() {
        return new IllegalStateException("the source is broken");
    }

    /** The JDK. */
    public static final class Jdk implements Peer {
        @Override
        public Object numbers(long count, boolean failing) {
            return new Submitting(count, failing);
        }

        @Override
        public Object through(Object publisher) {
            return first(publisher, Long.MAX_VALUE);
        }

        @Override
        @SuppressWarnings("unchecked")
        public Object first(Object publisher, long count) {
            return new Relay((Flow.Publisher<Object>) publisher, count);
        }
    }

    private static final class Submitting extends SubmissionPublisher<Object> {
        private final long count;
        private final boolean failing;

        Submitting(long count, boolean failing) {
            super(THREADS, 256);
            this.count = count;
            this.failing = failing;
        }

        @Override
        public void subscribe(Flow.Subscriber<? super Object> subscriber) {
            super.subscribe(subscriber);
            THREADS.execute(this::submitAll);
        }

        private void submitAll() {
            for (long number = 0; number < count && hasSubscribers(); number++) {
                submit(number);
            }
            if (failing) {
                closeExceptionally(broken());
            } else {
                close();
            }
        }
    }

    private static final class Relay extends SubmissionPublisher<Object>
            implements Flow.Processor<Object, Object> {
        private final Flow.Publisher<Object> source;
        private Flow.Subscription subscription;
        private long left;

        Relay(Flow.Publisher<Object> source, long count) {
            super(THREADS, 256);
            this.source = source;
            this.left = count;
        }

        @Override
        public void subscribe(Flow.Subscriber<? super Object> subscriber) {
            super.subscribe(subscriber);
            source.subscribe(this);
        }

        @Override
        public void onSubscribe(Flow.Subscription offered) {
            subscription = offered;
            subscription.request(Math.min(left, 256));
        }

        @Override
        public void onNext(Object element) {
            submit(element);
            if (--left == 0 || !hasSubscribers()) {
                subscription.cancel();
                close();
            } else if (left >= 256) {
                subscription.request(1);
            }
        }

        @Override
        public void onError(Throwable error) {
            closeExceptionally(error);
        }

        @Override
        public void onComplete() {
            close();
        }
    }

    /** Reactor. */
    public static final class Reactor implements Peer {
        @Override
        public Object numbers(long count, boolean failing) {
            Flux<Object> numbers =
                    Flux.generate(
                            () -> 0L,
                            (next, sink) -> {
                                if (next < count) {
                                    sink.next(next);
                                } else if (failing) {
                                    sink.error(broken());
                                } else {
                                    sink.complete();
                                }
                                return next + 1;
                            });
            return numbers;
        }

        @Override
        public Object through(Object publisher) {
            return Flux.from((Publisher<?>) publisher)
                    .publishOn(reactor.core.scheduler.Schedulers.parallel());
        }

        @Override
        public Object first(Object publisher, long count) {
            return Flux.from((Publisher<?>) publisher).take(count);
        }
    }

    /** RxJava. */
    public static final class RxJava implements Peer {
        @Override
        public Object numbers(long count, boolean failing) {
            Flowable<Long> numbers = Flowable.rangeLong(0, count);
            return failing ? numbers.concatWith(Flowable.error(broken())) : numbers;
        }

        @Override
        public Object through(Object publisher) {
            return Flowable.fromPublisher((Publisher<?>) publisher)
                    .observeOn(Schedulers.computation());
        }

        @Override
        public Object first(Object publisher, long count) {
            return Flowable.fromPublisher((Publisher<?>) publisher).take(count);
        }
    }

    /** Pekko. */
    public static final class Pekko implements Peer {
        private final ActorSystem system =
                ActorSystem.create("peer", ConfigFactory.parseString("pekko.daemonic = on"));

        @Override
        public Object numbers(long count, boolean failing) {
            return published(
                    Source.fromIterator(
                            () ->
                                    LongStream.range(0, failing ? count + 1 : count)
                                            .mapToObj(number -> below(number, count))
                                            .iterator()));
        }

        private static Object below(long number, long count) {
            if (number == count) {
                throw broken();
            }
            return number;
        }

        @Override
        @SuppressWarnings("unchecked")
        public Object through(Object publisher) {
            return published(Source.fromPublisher((Publisher<Object>) publisher).async());
        }

        @Override
        @SuppressWarnings("unchecked")
        public Object first(Object publisher, long count) {
            return published(Source.fromPublisher((Publisher<Object>) publisher).take(count));
        }

        private Publisher<Object> published(Source<Object, ?> source) {
            return source.runWith(Sink.asPublisher(AsPublisher.WITHOUT_FANOUT), system);
        }
    }

    /** Stands between a publisher and its subscriber, and counts. */
    public static final class Tap implements Flow.Publisher<Object> {
        private final Flow.Publisher<Object> source;
        private long requested;
        private long sent;
        private long excess;
        private boolean cancelled;

        @SuppressWarnings("unchecked")
        public Tap(Object source) {
            this.source =
                    source instanceof Flow.Publisher<?> publisher
                            ? (Flow.Publisher<Object>) publisher
                            : FlowAdapters.toFlowPublisher((Publisher<Object>) source);
        }

        /** Elements asked for and sent, elements sent without being asked for, and cancels. */
        public synchronized long[] counts() {
            return new long[] {requested, sent, excess, cancelled ? 1 : 0};
        }

        private synchronized void request(long n) {
            requested = requested + n < 0 ? Long.MAX_VALUE : requested + n;
        }

        private synchronized void send() {
            sent++;
            excess = Math.max(excess, sent - requested);
        }

        private synchronized void cancel() {
            cancelled = true;
            notifyAll();
        }

        public synchronized void awaitCancelled() throws InterruptedException {
            while (!cancelled) {
                wait();
            }
        }

        @Override
        public void subscribe(Flow.Subscriber<? super Object> subscriber) {
            source.subscribe(
                    new Flow.Subscriber<>() {
                        @Override
                        public void onSubscribe(Flow.Subscription subscription) {
                            subscriber.onSubscribe(
                                    new Flow.Subscription() {
                                        @Override
                                        public void request(long n) {
                                            Tap.this.request(n);
                                            subscription.request(n);
                                        }

                                        @Override
                                        public void cancel() {
                                            Tap.this.cancel();
                                            subscription.cancel();
                                        }
                                    });
                        }

                        @Override
                        public void onNext(Object element) {
                            send();
                            subscriber.onNext(element);
                        }

                        @Override
                        public void onError(Throwable error) {
                            subscriber.onError(error);
                        }

                        @Override
                        public void onComplete() {
                            subscriber.onComplete();
                        }
                    });
        }
    }

    /** Asks for what it is told to, and counts. */
    public static final class Patient implements Flow.Subscriber<Object> {
        private Flow.Subscription subscription;
        private long received;
        private Throwable error;
        private boolean over;

        public synchronized long received() {
            return received;
        }

        public synchronized Throwable error() {
            return error;
        }

        public synchronized boolean over() {
            return over;
        }

        /** Ask for more; at once if the subscription is there. */
        public synchronized void request(long n) throws InterruptedException {
            while (subscription == null) {
                wait();
            }
            subscription.request(n);
        }

        public synchronized void cancel() {
            subscription.cancel();
        }

        /** Wait until so many were received, or the stream is over. */
        public synchronized void awaitReceived(long count) throws InterruptedException {
            while (received < count && !over) {
                wait();
            }
        }

        @Override
        public synchronized void onSubscribe(Flow.Subscription offered) {
            subscription = offered;
            notifyAll();
        }

        @Override
        public synchronized void onNext(Object element) {
            received++;
            notifyAll();
        }

        @Override
        public synchronized void onError(Throwable thrown) {
            error = thrown;
            over = true;
            notifyAll();
        }

        @Override
        public synchronized void onComplete() {
            over = true;
            notifyAll();
        }
    }

    /** Breaks a rule, or takes its time. */
    public static final class Odd implements Flow.Publisher<Object> {
        private final String how;
        private boolean goesOn;

        public Odd(String how) {
            this.how = how;
        }

        /** Let a slow one go on. */
        public synchronized void goOn() {
            goesOn = true;
            notifyAll();
        }

        @Override
        public void subscribe(Flow.Subscriber<? super Object> subscriber) {
            if (how.equals("throws in subscribe")) {
                throw new UnsupportedOperationException("it is closed");
            }
            if (how.equals("fails before onSubscribe")) {
                subscriber.onError(broken());
                return;
            }
            subscriber.onSubscribe(
                    new Flow.Subscription() {
                        @Override
                        public void request(long n) {
                            answer(subscriber, n);
                        }

                        @Override
                        public void cancel() {
                            if (how.equals("throws in cancel")) {
                                throw broken();
                            }
                        }
                    });
            if (how.equals("subscribes twice")) {
                subscriber.onSubscribe(
                        new Flow.Subscription() {
                            @Override
                            public void request(long n) {
                                subscriber.onError(broken());
                            }

                            @Override
                            public void cancel() {
                                goOn();
                            }
                        });
            }
        }

        private void answer(Flow.Subscriber<? super Object> subscriber, long n) {
            switch (how) {
                case "throws in request" -> throw broken();
                case "sends null" -> subscriber.onNext(null);
                case "sends one too many" -> {
                    for (long number = 0; number <= n; number++) {
                        subscriber.onNext(number);
                    }
                }
                case "is slow" -> {
                    subscriber.onNext("first");
                    waitUntilItGoesOn();
                    subscriber.onNext("second");
                    subscriber.onComplete();
                }
                case "subscribes twice" -> {
                    waitUntilItGoesOn();
                    subscriber.onNext("only");
                    subscriber.onComplete();
                }
                default -> subscriber.onNext(how);
            }
        }

        private synchronized void waitUntilItGoesOn() {
            while (!goesOn) {
                try {
                    wait();
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
            }
        }
    }

    /** A subscriber that throws at its first element. */
    public static final class Throwing implements Flow.Subscriber<Object> {
        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Object element) {
            throw new UnsupportedOperationException("no elements, please");
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onComplete() {}
    }

    /** Values of each kind. */
    public static Flow.Publisher<Object> values() {
        return FlowAdapters.toFlowPublisher(
                Flux.just(
                        1, 2L, 0.5, true, "text", "", new byte[] {1, -1}, 'c', new StringBuilder("b")));
    }

    /** The names of the classes of what a publisher sends. */
    public static Publisher<Object> classesOf(Publisher<Object> publisher) {
        return Flux.from(publisher).map(element -> element.getClass().getSimpleName());
    }

    /** Elements that are equal to an earlier one are left out. */
    public static Publisher<Object> distinct(Publisher<Object> publisher) {
        return Flux.from(publisher).distinct();
    }

    /** Adds up what a publisher of Java sends, for comparison: the time is that of Java alone. */
    public static long sumOf(Object publisher) {
        return Flux.from((Publisher<?>) publisher)
                .reduce(0L, (sum, number) -> sum + (Long) number)
                .block();
    }

    private Peers() {}
}
