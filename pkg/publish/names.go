package publish

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/outbox"
)

type (
	// Publisher appends events to an outbox on disk and forwards them, see [outbox.Publisher].
	Publisher = outbox.Publisher
	// Options configure a [Publisher], see [outbox.Options].
	Options = outbox.Options
	// SharedOptions configure [AppendShared], see [outbox.SharedOptions].
	SharedOptions = outbox.SharedOptions
	// Durability determines what an event survives, see [outbox.Durability].
	Durability = outbox.Durability
	// FullPolicy determines what happens if the outbox has no room, see [outbox.FullPolicy].
	FullPolicy = outbox.FullPolicy
	// Redactor removes sensitive data from events, see [outbox.Redactor].
	Redactor = outbox.Redactor
	// Stats are counts since Open, see [outbox.Stats].
	Stats = outbox.Stats
	// State describes an outbox on disk, see [outbox.State].
	State = outbox.State
	// Gap is a range of numbers that will never arrive, see [outbox.Gap].
	Gap = outbox.Gap
	// Settled is the end of the events that the stream acknowledged, see [outbox.Settled].
	Settled = outbox.Settled
	// Missing is a producer whose outbox is gone, see [outbox.Missing].
	Missing = outbox.Missing
	// Issuer signs the grants that enrol producers, see [outbox.Issuer].
	Issuer = outbox.Issuer
)

// Values of [Durability] and [FullPolicy].
const (
	ProcessDurability = outbox.ProcessDurability
	DiskDurability    = outbox.DiskDurability

	Fail  = outbox.Fail
	Block = outbox.Block
	Shed  = outbox.Shed
)

// EndorsedEnding is added to the path of an issuer's key to name the file with its endorsement.
const EndorsedEnding = outbox.EndorsedEnding

// Errors of a [Publisher] and of [AppendShared].
var (
	ErrClosed        = outbox.ErrClosed
	ErrFull          = outbox.ErrFull
	ErrTooLarge      = outbox.ErrTooLarge
	ErrShed          = outbox.ErrShed
	ErrInUse         = outbox.ErrInUse
	ErrForeignTenant = outbox.ErrForeignTenant
	ErrDuplicate     = outbox.ErrDuplicate
	ErrPermission    = outbox.ErrPermission
	ErrNoStream      = outbox.ErrNoStream
)

// NoRedaction is a [Redactor] that changes nothing.
var NoRedaction = outbox.NoRedaction

// ParseFullPolicy returns the policy with the given name.
func ParseFullPolicy(name string) (FullPolicy, error) { return outbox.ParseFullPolicy(name) }

// AppendShared redacts, numbers and stores events in the outbox in dir, see [outbox.AppendShared].
func AppendShared(ctx context.Context, dir string, opts SharedOptions, list ...events.Event) ([]events.Event, error) {
	return outbox.AppendShared(ctx, dir, opts, list...)
}

// Inspect reads the state of the outbox in dir, see [outbox.Inspect].
func Inspect(dir string) (State, error) { return outbox.Inspect(dir) }

// JournalDir returns the folder of the outbox journals in a data directory.
func JournalDir(dataDir string) string { return outbox.JournalDir(dataDir) }

// MissingOutboxes returns the producers of a data directory whose outboxes are gone, replaced or
// damaged.
func MissingOutboxes(dataDir string) ([]Missing, error) { return outbox.MissingOutboxes(dataDir) }

// RecordLost records the producers that [MissingOutboxes] finds, see [outbox.RecordLost].
func RecordLost(ctx context.Context, dataDir, dir string, opts SharedOptions) ([]Missing, error) {
	return outbox.RecordLost(ctx, dataDir, dir, opts)
}

// OpenIssuer reads the key file of an issuer, see [outbox.OpenIssuer].
func OpenIssuer(path string) (*Issuer, error) { return outbox.OpenIssuer(path) }
