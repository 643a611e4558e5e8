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

// Marks are high-water marks of producers, with which a projection recognises repeated
// events.
type Marks = projection.Marks

// ErrStreamChanged ends Run when the projection was built from another stream.
var ErrStreamChanged = errors.New("the stream is not the one that was read before")

// Message is an event or a manifest as stored in the stream.
type Message struct {
	Sequence uint64
	Subject  string
	Address  subjects.Address // parsed from Subject; zero for an unknown subject, see [Options.UnknownSubjects]
	Data     []byte           // of the event or manifest, verbatim
	Stored   time.Time        // by the server
}

// Projection is the state that a service derives from the stream. Run calls its
// methods from one goroutine.
type Projection interface {
	// Position returns the last committed position.
	Position(ctx context.Context) (Position, error)

	// Apply applies batch in stream order and commits it together with next in one
	// transaction. The batch is empty when only the position moves.
	//
	// Apply returns a [*Poison] for a message that can never be applied, and commits
	// nothing. Run then calls Apply again without that message and with the same
	// next. After any other error Run retries unless Position shows a commit.
	Apply(ctx context.Context, batch []Message, next Position) error
}

// Poison is the error for a message that can never be applied. Reason is stored in the
// stream of dead letters, so it must not quote the message.
type Poison struct { //nolint:errname // it names the message as much as the error
	Sequence uint64
	Reason   string
}

// Error implements error.
func (p *Poison) Error() string { return fmt.Sprintf("message %d: %s", p.Sequence, p.Reason) }

// Gap is an inclusive range of stream sequences that no longer exist.
type Gap struct {
	First, Last uint64
	Expired     bool // removed by age or size at the head of the stream; otherwise deleted by a user
}

// Progress is the state of a call of Run.
type Progress struct {
	Done     uint64   // messages applied in this call
	Position Position // last committed position
	Last     uint64   // last known sequence of the stream
	Target   uint64   // sequence that a drain must reach; 0 without Drain
	Lag      uint64   // messages of the stream after Position
	Err      error
}

// Options configure Run. Durable is required.
type Options struct {
	Durable string // name of the service and of its consumer on the server
	Space   subjects.Space
	Tenant  string // read only this tenant; empty means all

	// UnknownSubjects passes messages on unknown subjects to Apply. Otherwise they are
	// dead-lettered.
	UnknownSubjects bool

	Batch      int           // maximum messages per Apply, 1000 by default
	BatchBytes int           // approximate maximum bytes per Apply, 8 MiB by default
	Linger     time.Duration // time that a partial batch waits for more messages, 0 by default

	Drain       bool          // return nil after the last message that the stream had at the start
	AckWait     time.Duration // of the durable, 60 s by default
	IdleCheck   time.Duration // interval of checks while no message arrives, 2 s by default
	RetryMax    time.Duration // longest pause before a retry, 30 s by default
	StopTimeout time.Duration // time for the current batch after ctx ends, 10 s by default

	Logger   *slog.Logger
	Progress func(Progress) // called after each batch, check and failure

	// Expected is a position that the stream must contain if the projection has lost
	// its position. Zero expects nothing.
	Expected Position

	// OnGap receives each range of messages that was lost before it was read.
	OnGap func(Gap)

	// OnStreamChanged is called when the stream was created again or rolled back. An
	// error ends Run, by default ErrStreamChanged. Otherwise Run resumes after the last
	// common message of Passed, or at the first message.
	OnStreamChanged func(reason string) error

	// Passed returns earlier positions of the projection, the latest first.
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
