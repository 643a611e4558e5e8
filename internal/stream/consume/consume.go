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

// Marks are high-water marks of producers. A projection uses them to recognise
// repeated events.
type Marks = projection.Marks

// ErrStreamChanged ends Run when the projection was built from another stream.
var ErrStreamChanged = errors.New("the stream is not the one that was read before")

// Message is an event or a manifest as stored in the stream.
type Message struct {
	Sequence uint64           // of the stream
	Subject  string           // as stored
	Address  subjects.Address // parsed from Subject; zero for an unknown subject, see [Options.Foreign]
	Data     []byte           // the event's or manifest's bytes, verbatim
	Stored   time.Time        // when the server stored it
}

// Projection is the state that a service derives from the stream. Run calls its
// methods from one goroutine.
type Projection interface {
	// Position returns the last committed position. Run calls it at the start,
	// after each failed Apply, and after each lost connection.
	Position(ctx context.Context) (Position, error)

	// Apply applies batch in stream order and commits it together with next in one
	// transaction. The batch is empty when only the position moves.
	//
	// A [*Poison] error names one message that can never be applied. Apply must
	// not have committed anything. Run dead-letters the message and calls Apply
	// again without it and with the same next. Run retries after any other error,
	// unless Position shows that the batch was committed.
	Apply(ctx context.Context, batch []Message, next Position) error
}

// Poison is the error for a message that can never be applied. Reason must not quote
// the message, because it is stored in the stream of dead letters.
type Poison struct { //nolint:errname // it names the message as much as the error
	Sequence uint64 // of the stream
	Reason   string
}

// Error implements error.
func (p *Poison) Error() string { return fmt.Sprintf("message %d: %s", p.Sequence, p.Reason) }

// Hole is an inclusive range of stream sequences that no longer exist.
type Hole struct {
	First, Last uint64
	Expired     bool // removed by age or size at the head of the stream; otherwise deleted by a user
}

// Progress is the state of a call of Run.
type Progress struct {
	Done     uint64   // messages applied in this call
	Position Position // last committed position
	Last     uint64   // last known sequence of the stream
	Target   uint64   // with Drain: the sequence to reach; 0 otherwise
	Lag      uint64   // messages of the stream after Position
	Err      error    // the current failure; nil if there is none
}

// Options configure Run. Durable is required.
type Options struct {
	Durable string // name of the service and of its consumer on the server
	Space   subjects.Space
	Tenant  string // read only this tenant; empty means all
	Foreign bool   // pass messages on unknown subjects to Apply instead of dead-lettering them

	Batch      int           // maximum messages per Apply, 1000 by default
	BatchBytes int           // approximate maximum bytes per Apply, 8 MiB by default
	Linger     time.Duration // time that a partial batch waits for more messages, 0 by default; a drain does not wait for new ones

	Drain       bool          // return nil after the last message that the stream had at the start
	AckWait     time.Duration // of the durable, 60 s by default
	IdleCheck   time.Duration // interval of checks while no message arrives, 2 s by default
	RetryMax    time.Duration // longest pause before a retry, 30 s by default
	StopTimeout time.Duration // time for the current batch after ctx ends, 10 s by default

	Logger   *slog.Logger
	Progress func(Progress) // called after each batch, check and failure

	// Expected is a position that the stream must contain while the position of the
	// projection is zero, because the projection lost it. Zero expects nothing.
	Expected Position

	// OnHole receives messages that were lost before they were read.
	OnHole func(Hole)

	// OnStreamChanged is called when the stream was created again or rolled back. An
	// error ends Run. After nil, Run resumes after the last common message of
	// Passed, or at the first message. A nil function ends Run with
	// ErrStreamChanged.
	OnStreamChanged func(reason string) error

	// Passed returns earlier positions of the projection, the latest first. Run
	// compares them with a changed stream.
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
	if o.OnHole == nil {
		o.OnHole = func(Hole) {}
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
