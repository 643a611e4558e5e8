package publish

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Errors that callers decide on.
var (
	// ErrClosed is returned by Append after Close.
	ErrClosed = errors.New("publisher is closed")
	// ErrFull is returned by Append when the outbox has no room for the event
	// and the policy is [Fail].
	ErrFull = errors.New("outbox is full")
	// ErrTooLarge is returned by Append, whatever the policy, for an event that
	// is larger than [Options.Quota]: there will never be room for it.
	ErrTooLarge = errors.New("event is larger than the outbox may be")
	// ErrShed is returned by Append, together with the numbered event, when the
	// outbox had no room and the policy is [Shed]: the event is lost, and its
	// number will be recorded as a gap.
	ErrShed = errors.New("event was shed: outbox is full")
	// ErrForeignTenant is returned by Append for an event of another tenant than
	// [Options.Tenant].
	ErrForeignTenant = errors.New("event belongs to another tenant")
	// ErrDuplicate is returned by Append under [Options.Unique] for an event
	// whose source and id this outbox has taken before.
	ErrDuplicate = errors.New("event id was published before")
)

// Durability is what an event survives once Append has returned.
type Durability int

// The durabilities.
const (
	// ProcessDurability survives the end of this process, kill -9 included: the
	// event was handed to the operating system.
	ProcessDurability Durability = iota
	// DiskDurability survives a power cut too: the event was synced to disk,
	// together with those of concurrent callers.
	DiskDurability
)

// FullPolicy is what Append does when the outbox has no room.
type FullPolicy int

// The policies.
const (
	// Block waits for room until the context ends.
	Block FullPolicy = iota
	// Fail returns [ErrFull].
	Fail
	// Shed gives the event its number and loses it. The loss is counted on disk,
	// recorded as gap.recorded as soon as there is room, and named in the next
	// manifest.
	Shed
)

var fullPolicies = [...]string{Block: "block", Fail: "fail", Shed: "shed"}

// String returns the name of the policy.
func (p FullPolicy) String() string {
	if p < Block || p > Shed {
		return "policy " + strconv.Itoa(int(p))
	}
	return fullPolicies[p]
}

// ParseFullPolicy returns the policy of a name.
func ParseFullPolicy(name string) (FullPolicy, error) {
	if i := slices.Index(fullPolicies[:], name); i >= 0 {
		return FullPolicy(i), nil
	}
	return 0, fmt.Errorf("no policy %q: take one of %s", name, strings.Join(fullPolicies[:], ", "))
}

// Redactor removes from events what must not be stored. It is called before
// anything is written, from the goroutines that call Append.
type Redactor interface {
	// Redact changes *e in place. It may replace e.Data and the like, but must
	// not change the bytes that they point to: those belong to the caller of
	// Append. An event whose redaction fails is not published.
	Redact(e *events.Event) error
}

// NoRedaction is the [Redactor] that keeps everything.
var NoRedaction Redactor = noRedaction{}

type noRedaction struct{}

// Redact keeps e as it is.
func (noRedaction) Redact(*events.Event) error { return nil }

// Options configure a Publisher. Dir, Name and Redactor are required.
type Options struct {
	Dir      string   // of the outbox; one process at a time may use it
	Name     string   // the producer id is Name, a dash and eight hex digits
	Tenant   string   // given to events without a tenant; when set, no others are taken
	Redactor Redactor // [NoRedaction] opts out

	Durability   Durability
	Quota        int64      // bytes of events that may wait; default 1 GiB
	Full         FullPolicy // when that many wait, or the disk is full
	SegmentBytes int64      // size of an outbox file; default 16 MiB, at most an eighth of Quota
	Unique       bool       // refuse events whose source and id this outbox has taken before
	UniqueLast   int        // under Unique: remember this many ids at least, and twice as many at most; default all

	BatchEvents int           // events per batch; default 500, at most 900
	BatchBytes  int           // bytes per batch; default 4 MiB
	Linger      time.Duration // how long a batch waits for more events; default 20 ms
	AckWait     time.Duration // how long the stream may take to acknowledge a batch; default 10 s
	KeepSent    time.Duration // how long what was sent stays on disk once nothing waits, at most; default 1 min
	SealDelay   time.Duration // quiet time after which a run that went on is sealed again; default 30 s

	SubjectPrefix string       // default "hooktrail."
	StreamPrefix  string       // default "HOOKTRAIL_"
	Logger        *slog.Logger // default discards

	shared bool // other processes append too

	// For tests.
	bootID       func() string // names the boot of this machine
	runsInMemory int           // whose events are counted
}

// Limits of the options.
const (
	defaultQuota        = 1 << 30
	defaultSegmentBytes = 16 << 20
	defaultBatchEvents  = 500
	defaultBatchBytes   = 4 << 20
	defaultLinger       = 20 * time.Millisecond
	defaultAckWait      = 10 * time.Second
	defaultSealDelay    = 30 * time.Second
	defaultKeepSent     = time.Minute

	defaultRunsInMemory = 10_000

	maxBatchEvents = 900 // the server takes 1000 messages, manifests included
	maxNameBytes   = 200
)

func (o Options) withDefaults() Options {
	setDefault(&o.Quota, defaultQuota)
	setDefault(&o.SegmentBytes, defaultSegmentBytes)
	setDefault(&o.BatchEvents, defaultBatchEvents)
	setDefault(&o.BatchBytes, defaultBatchBytes)
	setDefault(&o.Linger, defaultLinger)
	setDefault(&o.AckWait, defaultAckWait)
	setDefault(&o.SealDelay, defaultSealDelay)
	setDefault(&o.KeepSent, defaultKeepSent)
	setDefault(&o.runsInMemory, defaultRunsInMemory)
	o.SegmentBytes = max(min(o.SegmentBytes, o.Quota/8), 1)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.bootID == nil {
		o.bootID = bootID
	}
	return o
}

func setDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Validate returns an error that names the first field that cannot be used.
func (o Options) Validate() error {
	for _, check := range [...]struct {
		wrong bool
		why   string
	}{
		{o.Dir == "", "Dir: missing"},
		{o.Name == "", "Name: missing"},
		{len(o.Name) > maxNameBytes, fmt.Sprintf("Name: longer than %d bytes", maxNameBytes)},
		{o.Redactor == nil, "Redactor: missing; NoRedaction opts out"},
		{o.Durability < ProcessDurability || o.Durability > DiskDurability, "Durability: there is none of that number"},
		{o.Full < Block || o.Full > Shed, "Full: there is no policy of that number"},
		{o.BatchEvents < 0 || o.BatchEvents > maxBatchEvents, fmt.Sprintf("BatchEvents: not between 0 and %d", maxBatchEvents)},
		{o.SubjectPrefix != "" && !strings.HasSuffix(o.SubjectPrefix, "."), "SubjectPrefix: does not end with a dot"},
		{o.Quota < 0, "Quota: negative"},
		{o.SegmentBytes < 0, "SegmentBytes: negative"},
		{o.BatchBytes < 0, "BatchBytes: negative"},
		{o.Linger < 0, "Linger: negative"},
		{o.AckWait < 0, "AckWait: negative"},
		{o.SealDelay < 0, "SealDelay: negative"},
		{o.KeepSent < 0, "KeepSent: negative"},
	} {
		if check.wrong {
			return errors.New("option " + check.why)
		}
	}
	if _, err := subjects.Token(o.Name); err != nil {
		return fmt.Errorf("option Name: %w", err)
	}
	if _, err := subjects.Token(o.Tenant); err != nil {
		return fmt.Errorf("option Tenant: %w", err)
	}
	return nil
}

// lockName returns the name of the lock that who forwards holds.
func (o Options) lockName() string {
	if o.shared {
		return "forward.lock"
	}
	return "lock"
}

func (o Options) space() subjects.Space {
	return subjects.Space{Prefix: o.SubjectPrefix, StreamPrefix: o.StreamPrefix}
}
