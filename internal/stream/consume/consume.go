package consume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Position is the last stream sequence that a projection has committed.
type Position = projection.Position

// Marks stores the highest counted sequence of each producer. Projections use it to recognise
// repeated events.
type Marks = projection.Marks

// ErrStreamChanged is the error of Run when the projection was built from another stream.
var ErrStreamChanged = errors.New("the stream is not the one that was read before")

// Message is an event or a manifest as stored in the stream.
type Message struct {
	Sequence uint64
	Subject  string
	Address  subjects.Address // parsed from Subject; zero if the subject is unknown, see [Options.UnknownSubjects]
	Data     []byte           // the event or manifest, unmodified
	Stored   time.Time        // time at which the server stored the message
}

// Projection is the state that a service derives from the stream. Run calls the methods from one
// goroutine only.
type Projection interface {
	// Position returns the last committed position.
	Position(ctx context.Context) (Position, error)

	// Apply applies the messages of batch in stream order. It commits them together with next in
	// one transaction. If batch is empty, it only stores next.
	//
	// If a message can never be applied, Apply commits nothing and returns a [*Poison]. Run then
	// calls Apply again without that message and with the same next. After any other error, Run
	// calls Position. If the result shows that the batch was not committed, Run retries.
	Apply(ctx context.Context, batch []Message, next Position) error
}

// Poison is the error for a message that can never be applied. Reason must not quote the message,
// because it is stored in the stream of dead letters.
type Poison struct { //nolint:errname // it names the message as much as the error
	Sequence uint64
	Reason   string
}

// Error implements error.
func (p *Poison) Error() string { return fmt.Sprintf("message %d: %s", p.Sequence, p.Reason) }

// Gap is a range of stream sequences whose messages no longer exist. It includes First and Last.
type Gap struct {
	First, Last uint64
	// Expired is true if limits of age or size removed the messages at the head of the stream. It is
	// false if a user deleted them.
	Expired bool
}

// Progress describes the state of a call of Run.
type Progress struct {
	Done     uint64   // messages applied in this call
	Position Position // last committed position
	Last     uint64   // last known sequence of the stream
	Target   uint64   // sequence at which a drain ends; 0 without Drain
	Lag      uint64   // number of stream messages after Position
	Err      error
}

// Options configures Run. Durable is required.
type Options struct {
	Durable string // name of the service, which also names the consumer on the server
	Space   subjects.Space
	Tenant  string // read only this tenant; empty means all tenants

	// UnknownSubjects makes Run pass messages with unknown subjects to Apply. Otherwise Run
	// dead-letters these messages.
	UnknownSubjects bool

	Batch      int           // maximum number of messages per Apply; 1000 by default
	BatchBytes int           // approximate maximum number of bytes per Apply; 8 MiB by default
	Linger     time.Duration // how long a partial batch waits for more messages; 0 by default

	Drain   bool          // return nil after the message that was the last one of the stream at the start
	AckWait time.Duration // acknowledgement timeout of the durable; 60 s by default
	// IdleCheck is the interval between checks of the stream while no message arrives. The default
	// is 2 s.
	IdleCheck   time.Duration
	RetryMax    time.Duration // longest pause before a retry; 30 s by default
	StopTimeout time.Duration // how long the current batch may continue after ctx ends; 10 s by default

	Logger   *slog.Logger
	Progress func(Progress) // called after each batch, check and failure

	// Expected is used if the projection has lost its position. It is a position that the stream
	// must contain. If Expected is zero, this is not checked.
	Expected Position

	// OnGap is called for each range of messages that was lost before Run could read it.
	OnGap func(Gap)

	// OnStreamChanged is called when the stream was created again or was rolled back to an earlier
	// state. If it returns an error, Run ends with that error. By default it returns
	// ErrStreamChanged. If it returns nil, Run resumes after the latest position of Passed whose
	// message is unchanged, or at the first message.
	OnStreamChanged func(reason string) error

	// Passed returns earlier positions of the projection. The latest one comes first.
	Passed func(ctx context.Context) ([]Position, error)
}

func (o Options) withDefaults() Options {
	setDefault(&o.Batch, 1000)
	setDefault(&o.BatchBytes, 8<<20)
	setDefault(&o.AckWait, time.Minute)
	setDefault(&o.IdleCheck, 2*time.Second)
	setDefault(&o.RetryMax, 30*time.Second)
	setDefault(&o.StopTimeout, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.OnGap == nil {
		o.OnGap = func(Gap) {}
	}
	if o.Passed == nil {
		o.Passed = func(context.Context) ([]Position, error) { return nil, nil }
	}
	if o.OnStreamChanged == nil {
		o.OnStreamChanged = func(reason string) error { return fmt.Errorf("%w: %s", ErrStreamChanged, reason) }
	}
	return o
}

func setDefault[T int | time.Duration](v *T, value T) {
	if *v <= 0 {
		*v = value
	}
}
