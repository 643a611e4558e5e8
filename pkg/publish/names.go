package publish

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/outbox"
)

// Publisher and the other types are documented in package outbox.
type (
	Publisher     = outbox.Publisher
	Options       = outbox.Options
	SharedOptions = outbox.SharedOptions
	Durability    = outbox.Durability
	FullPolicy    = outbox.FullPolicy
	Redactor      = outbox.Redactor
	Stats         = outbox.Stats
	State         = outbox.State
	Gap           = outbox.Gap
	Settled       = outbox.Settled
	Missing       = outbox.Missing
	Issuer        = outbox.Issuer
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
