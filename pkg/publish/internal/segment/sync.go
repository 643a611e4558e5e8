package segment

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

type commit struct {
	// mu guards synced. mu stays locked during an fsync, so that callers who waited find their
	// records synced. Lock commit.mu before Log.mu.
	mu     sync.Mutex
	synced uint64 // ordinal up to which records are on disk
}

// Sync returns when all records up to ordinal are on disk.
func (l *Log) Sync(ordinal uint64) error {
	l.commit.mu.Lock()
	defer l.commit.mu.Unlock()
	if l.commit.synced >= ordinal {
		return nil
	}
	l.mu.Lock()
	tail, end, err := l.tail, l.end, l.broken
	l.mu.Unlock()
	if err != nil || tail == nil {
		return err
	}
	if err := disk.Sync(tail); err != nil && !errors.Is(err, os.ErrClosed) {
		// After a failed fsync, the kernel may drop data, so accept no more writes.
		l.mu.Lock()
		defer l.mu.Unlock()
		l.broken = fmt.Errorf("outbox stopped: sync segment: %w", err)
		return l.broken
	}
	l.commit.synced = end
	return nil
}

// SyncAll syncs all segments, including those that other processes wrote.
func (l *Log) SyncAll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seg := range l.list {
		f, err := os.OpenFile(l.Dir.Path(seg.First), os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("sync segments: %w", err)
		}
		if err := errors.Join(disk.Sync(f), f.Close()); err != nil {
			return fmt.Errorf("sync segments: %w", err)
		}
	}
	return l.Dir.Sync()
}
