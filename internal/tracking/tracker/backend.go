package tracker

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

// Values of Options.Backend.
const (
	EmbeddedBackend = "embedded" // files in the format of bd import
	BDBackend       = "bd"       // workspaces of the Beads CLI
)

type backend interface {
	Workspace(tenant string) beads.Backend
	// Flush makes all changes durable. The tracker then marks the changes as done, so that a crash
	// loses none.
	Flush(ctx context.Context) error
	// Export writes the changed issues to the workspaces. The backend sets its own deadlines, so
	// ctx needs none.
	Export(ctx context.Context) error
}

// BDDir returns the folder that contains the workspaces of bd, the Beads CLI.
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
