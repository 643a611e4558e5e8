package outbox

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
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

// Errors of [Publisher.Append], except for ErrPermission and ErrNoStream.
var (
	// ErrClosed means that the publisher was closed before.
	ErrClosed = errors.New("publisher is closed")
	// ErrFull means that the outbox has no room and the policy is [Fail], or that the context ended
	// while [Block] waited.
	ErrFull = errors.New("outbox is full")
	// ErrTooLarge means that an event is larger than [Options.Quota].
	ErrTooLarge = errors.New("event is larger than the quota of the outbox")
	// ErrShed means that the outbox has no room and the policy is [Shed].
	ErrShed = errors.New("event was shed: outbox is full")
	// ErrInUse means that another process has the outbox open. The error names the process.
	ErrInUse = disk.ErrInUse
	// ErrForeignTenant means that [Options.Tenant] is set and the event has another tenant.
	ErrForeignTenant = errors.New("event belongs to another tenant")
	// ErrDuplicate means that [Options.Unique] is set and an event with this source and id was
	// accepted before.
	ErrDuplicate = errors.New("event id was published before")
	// ErrPermission means that the user may not write events, or may not read the producer's chain
	// of manifests. [Stats.LastError] and [Publisher.Flush] report it.
	ErrPermission = transport.ErrPermission
	// ErrNoStream means that the server has no stream for events. [Stats.LastError],
	// [Publisher.Flush] and [Publisher.Close] report it.
	ErrNoStream = transport.ErrNoStream
)

// Durability determines what an event survives after Append has returned.
type Durability int

const (
	// ProcessDurability survives any end of this process, including kill -9.
	ProcessDurability Durability = iota
	// DiskDurability also survives a power cut. It costs an fsync, which concurrent callers share.
	DiskDurability
)

// FullPolicy determines what Append does if the outbox has no room.
type FullPolicy int

const (
	// Fail returns [ErrFull]. It is the default.
	Fail FullPolicy = iota
	// Block waits for room until the context ends.
	Block
	// Shed gives the event a number and drops it. Manifests list the number as missing, so the loss
	// is not silent.
	Shed
)

var fullPolicies = [...]string{Fail: "fail", Block: "block", Shed: "shed"}

// String returns the name of the policy.
func (p FullPolicy) String() string {
	if p < Fail || p > Shed {
		return "policy " + strconv.Itoa(int(p))
	}
	return fullPolicies[p]
}

// ParseFullPolicy returns the policy with the given name.
func ParseFullPolicy(name string) (FullPolicy, error) {
	if i := slices.Index(fullPolicies[:], name); i >= 0 {
		return FullPolicy(i), nil
	}
	return 0, fmt.Errorf("unknown policy %q, use one of %s", name, strings.Join(fullPolicies[:], ", "))
}

// Redactor removes sensitive data from events before they are written to disk.
type Redactor interface {
	// Redact changes *e in place. It must not write to the memory of slices such as e.Data, which
	// the caller owns. If it fails, the event is not published.
	Redact(e *events.Event) error
}

// NoRedaction is a [Redactor] that changes nothing.
var NoRedaction Redactor = noRedaction{}

type noRedaction struct{}

// Redact does not change e.
func (noRedaction) Redact(*events.Event) error { return nil }

// Options configure a Publisher. Dir, Name and Redactor are required.
type Options struct {
	Dir      string   // folder of the outbox
	Name     string   // the producer id is Name, a dash and 20 hex digits
	Tenant   string   // only allowed tenant, and default for events
	Redactor Redactor // [NoRedaction] disables redaction

	Durability   Durability
	Quota        int64      // maximum size of unsent events in bytes, default 1 GiB
	Full         FullPolicy // what Append does at the quota or on a full disk, default [Fail]
	SegmentBytes int64      // default 16 MiB, at most an eighth of Quota
	Unique       bool       // refuse events with a source and id that were already accepted
	// UniqueSame makes Unique also compare type, run and data. Otherwise, a client can block
	// another event by using its id first.
	UniqueSame bool
	// UniqueLast is the minimum number of latest ids that Unique remembers. 0 means all ids.
	UniqueLast int

	BatchEvents int           // default 500, at most 900
	BatchBytes  int           // default 4 MiB
	Linger      time.Duration // time that a batch waits for more events, default 20 ms
	AckWait     time.Duration // time limit for an answer of the stream, default 10 s
	KeepSent    time.Duration // time that sent events stay on disk, default 1 min
	SealDelay   time.Duration // idle time before a continued run is sealed again, default 30 s
	Heartbeat   time.Duration // announced time between manifests, default 10 min, negative for none
	LockWait    time.Duration // time limit of Open for another process that has the outbox open, default none

	// Journal is a folder outside of Dir that lists the outbox, so that a loss of the outbox is
	// noticed. Empty means no journal.
	Journal string

	// Issuer is the path of the key file that enrols the outbox, see [OpenIssuer]. Empty means
	// that the outbox is not enrolled.
	Issuer string

	SubjectPrefix string       // default "hooktrail."
	StreamPrefix  string       // default "HOOKTRAIL_"
	Logger        *slog.Logger // default discards

	shared bool    // other processes append too
	issuer *Issuer // nil if Options.Issuer is empty

	// For tests.
	bootID       func() string
	runsInMemory int
	unsigned     bool // send manifests of version 1
}

const (
	defaultQuota        = 1 << 30
	defaultSegmentBytes = 16 << 20
	defaultBatchEvents  = 500
	defaultBatchBytes   = 4 << 20
	defaultLinger       = 20 * time.Millisecond
	defaultAckWait      = 10 * time.Second
	defaultSealDelay    = 30 * time.Second
	defaultKeepSent     = time.Minute
	defaultHeartbeat    = 10 * time.Minute

	defaultRunsInMemory = 10_000

	maxBatchEvents = 900 // the server accepts 1000 messages, manifests included
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
	setDefault(&o.Heartbeat, defaultHeartbeat)
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
		{o.Full < Fail || o.Full > Shed, "Full: unknown policy"},
		{o.BatchEvents < 0 || o.BatchEvents > maxBatchEvents, fmt.Sprintf("BatchEvents: not between 0 and %d", maxBatchEvents)},
		{o.SubjectPrefix != "" && !strings.HasSuffix(o.SubjectPrefix, "."), "SubjectPrefix: does not end with a dot"},
		{o.Quota < 0, "Quota: negative"},
		{o.SegmentBytes < 0, "SegmentBytes: negative"},
		{o.BatchBytes < 0, "BatchBytes: negative"},
		{o.Linger < 0, "Linger: negative"},
		{o.AckWait < 0, "AckWait: negative"},
		{o.SealDelay < 0, "SealDelay: negative"},
		{o.KeepSent < 0, "KeepSent: negative"},
		{o.LockWait < 0, "LockWait: negative"},
		{o.Heartbeat > events.MaxInterval*time.Second, "Heartbeat: longer than 366 days"},
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

func (o Options) lockFile() string {
	if o.shared {
		return filepath.Join(o.Dir, "forward.lock")
	}
	return filepath.Join(o.Dir, "lock")
}

func (o Options) appendLock() string { return filepath.Join(o.Dir, "append.lock") }

func (o Options) reserve() disk.Reserve { return disk.Reserve(filepath.Join(o.Dir, "spare")) }

func (o Options) segments() segment.Options {
	return segment.Options{MaxBytes: o.SegmentBytes, Sync: o.Durability == DiskDurability, Resume: o.shared}
}

func (o Options) space() subjects.Space {
	return subjects.Space{Prefix: o.SubjectPrefix, StreamPrefix: o.StreamPrefix}
}
