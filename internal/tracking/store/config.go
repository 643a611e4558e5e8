package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/configfile"
)

// LoadConfig reads the limits of the rules from a file. The error for a mistake in the file states
// its position.
func LoadConfig(path string) (c rules.Config, err error) {
	f, err := os.Open(path)
	if err != nil {
		return c, fmt.Errorf("read configuration: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c, err = configfile.Read(f)
	if position, ok := errors.AsType[*configfile.Error](err); ok {
		return c, fmt.Errorf("%s:%w", path, position)
	}
	return c, err
}

const configRecord = "config"

// SaveConfig stores the tracker's configuration.
func SaveConfig(conn *sqlite.Conn, c rules.Config) error {
	return Save(conn, c, "INSERT OR REPLACE INTO record (tenant, kind, id, record) VALUES ('', ?, '', ?)", configRecord)
}

// CurrentConfig returns the tracker's configuration that is stored in dataDir. If there is none, it
// returns the default configuration.
func CurrentConfig(ctx context.Context, dataDir string) (rules.Config, error) {
	c := rules.DefaultConfig()
	err := Read(ctx, dataDir, func(conn *sqlite.Conn) error {
		return one(conn, &c, "SELECT record FROM record WHERE tenant = '' AND kind = ? AND id = ''", configRecord)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	return c, err
}
