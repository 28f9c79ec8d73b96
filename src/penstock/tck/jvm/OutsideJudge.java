package penstock;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import org.reactivestreams.Processor;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.tck.IdentityProcessorVerification;
import org.reactivestreams.tck.PublisherVerification;
import org.reactivestreams.tck.SubscriberBlackboxVerification;
import org.reactivestreams.tck.SubscriberWhiteboxVerification;
import org.reactivestreams.tck.SubscriberWhiteboxVerification.WhiteboxSubscriberProbe;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.ITestListener;
import org.testng.ITestResult;
import org.testng.TestNG;
import org.testng.annotations.Test;
import org.testng.xml.XmlClass;
import org.testng.xml.XmlInclude;
import org.testng.xml.XmlSuite;
import org.testng.xml.XmlTest;

/**
 * Runs the official kit on what Python makes.
 *
 * <p>TestNG makes the judges itself, by constructors without arguments. So what they need is
 * static, and a JVM judges one subject at a time.
 */
public final class OutsideJudge {

    /** What Python makes for the kit; a subject answers only what its own judge asks. */
    public interface Subject {
        Publisher<Object> publisher(long elements);

        Publisher<Object> failedPublisher();

        Subscriber<Object> subscriber();

        Subscriber<Object> watchedSubscriber(WhiteboxSubscriberProbe<Object> probe);

        void triggerRequest();

        Processor<Object, Object> processor();

        Object element(int number);

        long maxElements();

        long maxSubscribers();
    }

    /** Python's witness of the tests. */
    public interface Witness {
        void started(String test);

        void ended(String test, String outcome, Throwable fault, long milliseconds);
    }

    /** A Python object, as Java may hold it. */
    public interface Held {
        boolean matches(Held other);

        String text();
    }

    /** An element from Python: equal to another one where Python says so. */
    public static final class Element {
        public final Held held;

        public Element(Held held) {
            this.held = held;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Element element && held.matches(element.held);
        }

        @Override
        public int hashCode() {
            return 0; // Python's equal objects need not have equal hashes, if they have any
        }

        @Override
        public String toString() {
            return held.text();
        }
    }

    private static final ExecutorService THREADS =
            Executors.newCachedThreadPool(
                    task -> {
                        Thread thread = new Thread(task, "outside judge");
                        thread.setDaemon(true);
                        return thread;
                    });

    private static final long POLL_MILLISECONDS = 2;
    private static final long SHORTEST_GARBAGE_MILLISECONDS = 500;
    private static final long COLLECTION_MILLISECONDS = 100;

    private static Subject subject;
    private static long patience;
    private static long silence;

    private OutsideJudge() {}

    /** The names of the tests of a judge. */
    public static List<String> testsOf(Class<?> judge) {
        return Arrays.stream(judge.getMethods())
                .filter(method -> method.isAnnotationPresent(Test.class))
                .map(Method::getName)
                .distinct()
                .sorted()
                .toList();
    }

    /** Run some tests of a judge. Expected signals are awaited for one time, silence for another. */
    public static void run(
            Class<?> judge,
            List<String> tests,
            Subject newSubject,
            Witness witness,
            long patienceMilliseconds,
            long silenceMilliseconds) {
        subject = newSubject;
        patience = patienceMilliseconds;
        silence = silenceMilliseconds;
        XmlClass judgeClass = new XmlClass(judge);
        List<XmlInclude> included = new ArrayList<>();
        tests.forEach(test -> included.add(new XmlInclude(test)));
        judgeClass.setIncludedMethods(included);
        XmlSuite suite = new XmlSuite();
        new XmlTest(suite).setXmlClasses(new ArrayList<>(List.of(judgeClass)));
        TestNG runner = new TestNG(false);
        runner.setVerbose(0);
        runner.setXmlSuites(List.of(suite));
        runner.addListener(new Listener(witness));
        runner.run();
        subject = null;
    }

    private static TestEnvironment environment() {
        return new PatientEnvironment();
    }

    /** How long a publisher may take to drop a subscriber; the kit waits for all of it. */
    private static long garbageMilliseconds() {
        return Math.max(SHORTEST_GARBAGE_MILLISECONDS, patience / 20);
    }

    /**
     * Waits for an expected error for as long as the kit says that it does.
     *
     * <p>The kit itself looks once, after one poll, whatever time it was given: it computes what is
     * left as {@code =- now - before}. So it is told how long to poll only when the error is there.
     */
    private static final class PatientEnvironment extends TestEnvironment {
        private PatientEnvironment() {
            super(patience, silence, POLL_MILLISECONDS);
        }

        /** Asked by the kit just before it polls for an error, and for nothing else. */
        @Override
        public long defaultPollTimeoutMillis() {
            long deadline = System.nanoTime() + defaultTimeoutMillis() * 1_000_000;
            while (!hasFailed() && System.nanoTime() < deadline) {
                LockSupport.parkNanos(POLL_MILLISECONDS * 1_000_000);
            }
            return 0;
        }

        /** Whether an error has come; this is the only look at them that takes none away. */
        private boolean hasFailed() {
            try {
                verifyNoAsyncErrorsNoDelay();
                return false;
            } catch (AssertionError error) {
                return true;
            }
        }
    }

    private static final class Listener implements ITestListener {
        private final Witness witness;
        private volatile boolean collecting;

        private Listener(Witness witness) {
            this.witness = witness;
        }

        @Override
        public void onTestStart(ITestResult result) {
            witness.started(result.getName());
            if (result.getName().contains("_spec313_")) {
                collecting = true;
                THREADS.execute(this::collectGarbage);
            }
        }

        /**
         * The kit collects garbage once, and then waits for 100 ms to be told of what was dropped.
         * A busy machine may need longer, so it is told of earlier collections as well.
         */
        private void collectGarbage() {
            while (collecting) {
                System.gc();
                LockSupport.parkNanos(COLLECTION_MILLISECONDS * 1_000_000);
            }
        }

        @Override
        public void onTestSuccess(ITestResult result) {
            tell(result, "passed");
        }

        @Override
        public void onTestFailure(ITestResult result) {
            tell(result, "failed");
        }

        @Override
        public void onTestSkipped(ITestResult result) {
            tell(result, "skipped");
        }

        private void tell(ITestResult result, String outcome) {
            collecting = false;
            long taken = result.getEndMillis() - result.getStartMillis();
            witness.ended(result.getName(), outcome, result.getThrowable(), taken);
        }
    }

    /** Judges a publisher. */
    public static final class OfPublisher extends PublisherVerification<Object> {
        public OfPublisher() {
            super(environment(), garbageMilliseconds());
        }

        @Override
        public Publisher<Object> createPublisher(long elements) {
            return subject.publisher(elements);
        }

        @Override
        public Publisher<Object> createFailedPublisher() {
            return subject.failedPublisher();
        }

        @Override
        public long maxElementsFromPublisher() {
            return subject.maxElements();
        }
    }

    /** Judges a subscriber by what a publisher sees of it. */
    public static final class OfSubscriber extends SubscriberBlackboxVerification<Object> {
        public OfSubscriber() {
            super(environment());
        }

        @Override
        public Subscriber<Object> createSubscriber() {
            return subject.subscriber();
        }

        @Override
        public void triggerRequest(Subscriber<? super Object> subscriber) {
            subject.triggerRequest();
        }

        @Override
        public Object createElement(int number) {
            return subject.element(number);
        }
    }

    /** Judges a subscriber that can be steered and shows what it has processed. */
    public static final class OfWatchedSubscriber extends SubscriberWhiteboxVerification<Object> {
        public OfWatchedSubscriber() {
            super(environment());
        }

        @Override
        public Subscriber<Object> createSubscriber(WhiteboxSubscriberProbe<Object> probe) {
            return subject.watchedSubscriber(probe);
        }

        @Override
        public Object createElement(int number) {
            return subject.element(number);
        }
    }

    /** Judges a processor that passes on what it gets. */
    public static final class OfProcessor extends IdentityProcessorVerification<Object> {
        public OfProcessor() {
            super(environment(), garbageMilliseconds());
        }

        @Override
        public Processor<Object, Object> createIdentityProcessor(int bufferSize) {
            return subject.processor();
        }

        @Override
        public Publisher<Object> createFailedPublisher() {
            return subject.failedPublisher();
        }

        @Override
        public ExecutorService publisherExecutorService() {
            return THREADS;
        }

        @Override
        public Object createElement(int number) {
            return subject.element(number);
        }

        @Override
        public long maxElementsFromPublisher() {
            return subject.maxElements();
        }

        @Override
        public long maxSupportedSubscribers() {
            return subject.maxSubscribers();
        }
    }
}
