package tracker

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

// The backends.
const (
	EmbeddedBackend = "embedded" // files that bd import reads
	BDBackend       = "bd"       // workspaces of the Beads CLI
)

// backend is what issues are kept in.
type backend interface {
	Workspace(tenant string) beads.Backend
	// Flush makes durable what workspaces were asked for; only then is it
	// settled.
	Flush(ctx context.Context) error
	// Export publishes the workspaces for others to read, some time later. It has
	// deadlines of its own.
	Export(ctx context.Context) error
}

// BDDir returns the folder in a data directory with the workspaces that the Beads
// CLI keeps, one for each tenant.
func BDDir(dataDir string) string { return filepath.Join(dataDir, "bd") }

// useBackend makes the backend of o, unless it has one.
func (o *Options) useBackend(ctx context.Context, db *projection.DB) error {
	if o.backend != nil {
		return nil
	}
	var store *beads.Store
	switch o.Backend {
	case "", EmbeddedBackend:
		store = beads.NewStore(db, filepath.Join(o.DataDir, "beads"))
		store.LogTo(o.Logger)
		o.backend = store
	case BDBackend:
		bd, err := beads.NewBD(beads.BDOptions{Path: o.BD, Dir: BDDir(o.DataDir), DB: db, Logger: o.Logger})
		if err != nil {
			return fmt.Errorf("backend %s: %w", BDBackend, err)
		}
		store, o.backend = bd.Store, bd
	default:
		return fmt.Errorf("option Backend: %q is none", o.Backend)
	}
	return store.Recover(ctx)
}
