package publish

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/atomicbatch"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

// Errors that callers can test for.
var (
	// ErrClosed is returned by Append after Close.
	ErrClosed = errors.New("publisher is closed")
	// ErrFull is returned by Append when the outbox has no room for the event and
	// the policy is [Fail], or when the context ends while [Block] waits.
	ErrFull = errors.New("outbox is full")
	// ErrTooLarge is returned by Append for an event that is larger than
	// [Options.Quota]. It does not depend on the policy.
	ErrTooLarge = errors.New("event is larger than the quota of the outbox")
	// ErrShed is returned by Append, together with the numbered event, when the
	// outbox has no room and the policy is [Shed]. The event is lost, and its
	// number will be recorded as a gap.
	ErrShed = errors.New("event was shed: outbox is full")
	// ErrForeignTenant is returned by Append for an event of another tenant than
	// [Options.Tenant].
	ErrForeignTenant = errors.New("event belongs to another tenant")
	// ErrDuplicate is returned by Append with [Options.Unique] if this outbox has
	// taken an event with the same source and id before.
	ErrDuplicate = errors.New("event id was published before")
	// ErrPermission is wrapped by [Stats.LastError] and by the error of
	// [Publisher.Flush] when the server does not permit the publisher's user to
	// write events or to read its chain. The events wait until the user has the
	// permissions.
	ErrPermission = atomicbatch.ErrPermission
)

// Durability says what an event survives after Append has returned.
type Durability int

// The durabilities.
const (
	// ProcessDurability survives any end of this process, including kill -9. The
	// operating system has the event.
	ProcessDurability Durability = iota
	// DiskDurability also survives a power cut. The event is synced to disk.
	// Concurrent callers share a sync.
	DiskDurability
)

// FullPolicy says what Append does when the outbox has no room.
type FullPolicy int

// The policies.
const (
	// Block waits for room until the context ends.
	Block FullPolicy = iota
	// Fail returns [ErrFull].
	Fail
	// Shed gives the event a number and drops it. The outbox counts the loss on
	// disk, records it as gap.recorded as soon as there is room, and lists it in
	// the next manifest.
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

// ParseFullPolicy returns the policy with a name.
func ParseFullPolicy(name string) (FullPolicy, error) {
	if i := slices.Index(fullPolicies[:], name); i >= 0 {
		return FullPolicy(i), nil
	}
	return 0, fmt.Errorf("unknown policy %q, use one of %s", name, strings.Join(fullPolicies[:], ", "))
}

// Redactor removes sensitive data from events. Append calls it before anything is
// written, in the goroutine of its caller.
type Redactor interface {
	// Redact changes *e in place. It may replace e.Data and other fields, but must
	// not change the bytes that they point to, because those belong to the caller
	// of Append. If Redact fails, the event is not published.
	Redact(e *events.Event) error
}

// NoRedaction is a [Redactor] that changes nothing.
var NoRedaction Redactor = noRedaction{}

type noRedaction struct{}

// Redact does not change e.
func (noRedaction) Redact(*events.Event) error { return nil }

// Options configure a Publisher. Dir, Name and Redactor are required.
type Options struct {
	Dir      string   // folder of the outbox; one process at a time may use it
	Name     string   // prefix of the producer id, which adds a dash and eight hex digits
	Tenant   string   // for events without a tenant; if set, other tenants are refused
	Redactor Redactor // [NoRedaction] opts out

	Durability   Durability
	Quota        int64      // bytes of events that may wait; default 1 GiB
	Full         FullPolicy // applies when the quota is reached or the disk is full
	SegmentBytes int64      // size of an outbox file; default 16 MiB, at most an eighth of Quota
	Unique       bool       // refuse events with a source and id that this outbox has taken before
	UniqueLast   int        // with Unique: remember at least this many ids and at most twice as many; default all

	BatchEvents int           // events per batch; default 500, at most 900
	BatchBytes  int           // bytes per batch; default 4 MiB
	Linger      time.Duration // how long a batch waits for more events; default 20 ms
	AckWait     time.Duration // how long the stream may take to acknowledge a batch; default 10 s
	KeepSent    time.Duration // how long sent events stay on disk after the outbox is empty; default 1 min
	SealDelay   time.Duration // idle time after which a run that continued is sealed again; default 30 s

	SubjectPrefix string       // default "hooktrail."
	StreamPrefix  string       // default "HOOKTRAIL_"
	Logger        *slog.Logger // default discards

	shared bool // other processes append as well

	// For tests.
	bootID       func() string // returns the boot id of this machine
	runsInMemory int           // number of runs whose counters are in memory
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
		o.bootID = disk.BootID
	}
	return o
}

func setDefault[T int | int64 | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Validate returns an error that names the first invalid field.
func (o Options) Validate() error {
	for _, check := range [...]struct {
		wrong bool
		why   string
	}{
		{o.Dir == "", "Dir: missing"},
		{o.Name == "", "Name: missing"},
		{len(o.Name) > maxNameBytes, fmt.Sprintf("Name: longer than %d bytes", maxNameBytes)},
		{o.Redactor == nil, "Redactor: missing; NoRedaction opts out"},
		{o.Durability < ProcessDurability || o.Durability > DiskDurability, "Durability: unknown"},
		{o.Full < Block || o.Full > Shed, "Full: unknown policy"},
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

// lockFile returns the path of the lock that the forwarding process holds.
func (o Options) lockFile() string {
	if o.shared {
		return filepath.Join(o.Dir, "forward.lock")
	}
	return filepath.Join(o.Dir, "lock")
}

// appendLock returns the path of the lock for changes of a shared outbox.
func (o Options) appendLock() string { return filepath.Join(o.Dir, "append.lock") }

func (o Options) reserve() disk.Reserve { return disk.Reserve(filepath.Join(o.Dir, "spare")) }

func (o Options) segments() segment.Options {
	return segment.Options{MaxBytes: o.SegmentBytes, Sync: o.Durability == DiskDurability, Resume: o.shared}
}

func (o Options) space() subjects.Space {
	return subjects.Space{Prefix: o.SubjectPrefix, StreamPrefix: o.StreamPrefix}
}
