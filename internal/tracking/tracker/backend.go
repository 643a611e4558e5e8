package tracker

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

// The values of Options.Backend.
const (
	EmbeddedBackend = "embedded" // files in the format of bd import
	BDBackend       = "bd"       // workspaces of the Beads CLI
)

// A backend stores the issues of all tenants, one workspace per tenant.
type backend interface {
	Workspace(tenant string) beads.Backend
	// Flush makes all changes of the workspaces durable. Effects count as settled only after a
	// Flush.
	Flush(ctx context.Context) error
	// Export writes the changed issues to the places where people read them, such as files. It
	// sets a deadline for each of its steps.
	Export(ctx context.Context) error
}

// BDDir returns the folder in dataDir with the workspaces of the Beads CLI.
func BDDir(dataDir string) string { return filepath.Join(dataDir, "bd") }

func (o *Options) useBackend(ctx context.Context, db *projection.DB) error {
	if o.backend != nil {
		return nil
	}
	switch o.Backend {
	case "", EmbeddedBackend:
		store := beads.NewStore(db, filepath.Join(o.DataDir, "beads"))
		store.LogTo(o.Logger)
		o.backend = store
		return store.Recover(ctx)
	case BDBackend:
		bd, err := beads.NewBD(beads.BDOptions{Path: o.BD, Dir: BDDir(o.DataDir), DB: db, Logger: o.Logger})
		if err != nil {
			return fmt.Errorf("backend %s: %w", BDBackend, err)
		}
		o.backend = bd
		return bd.Recover(ctx)
	}
	return fmt.Errorf("option Backend: %q is unknown", o.Backend)
}
