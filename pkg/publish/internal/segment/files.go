package segment

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

// Suffix is the suffix of the names of segment files.
const Suffix = ".seg"

// Dir is the path of the folder of a log.
type Dir string

// Path returns the path of the segment whose first record has this ordinal.
func (d Dir) Path(first uint64) string {
	return filepath.Join(string(d), fmt.Sprintf("%020d%s", first, Suffix))
}

// Segment is one file of a log.
type Segment struct {
	First uint64 // ordinal of the first record
	Size  int64  // size of the complete records
}

func (d Dir) list() ([]Segment, error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, fmt.Errorf("list segments: %w", err)
	}
	var list []Segment
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), Suffix)
		first, err := strconv.ParseUint(name, 10, 64)
		if !ok || err != nil {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, fmt.Errorf("list segments: %w", err)
		}
		list = append(list, Segment{First: first, Size: info.Size()})
	}
	slices.SortFunc(list, func(a, b Segment) int { return cmp.Compare(a.First, b.First) })
	return list, nil
}

// Sync syncs the names of the segments to disk.
func (d Dir) Sync() error { return disk.SyncDir(string(d)) }
