package publisher

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe that nobody writes to, and one whose writer is silent, do not keep an
// import from ending when it is told to.
func TestImport_InterruptedPipe(t *testing.T) {
	_, b := open(t)
	for name, writer := range map[string]bool{"NoWriter": false, "SilentWriter": true} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Skip(err)
			}
			if writer {
				w, err := os.OpenFile(fifo, os.O_RDWR, 0) // does not wait for a reader
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := Import(ctx, ImportOptions{Broker: b, DataDir: t.TempDir(), Format: "claude-code", Paths: []string{fifo}})
				ended <- err
			}()
			select {
			case err := <-ended:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want to be interrupted", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("still waits for the pipe")
			}
		})
	}
}
