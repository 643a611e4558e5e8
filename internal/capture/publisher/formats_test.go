package publisher

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/dialogue"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

func headOf(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return data[:min(len(data), ingest.HeadBytes)]
}

func detected(head []byte, path string) (names []string) {
	if name := dialogue.Of(head, path); name != "" {
		names = append(names, name)
	}
	for _, f := range formats {
		if f.detect != nil && f.detect(head, path) {
			names = append(names, f.name)
		}
	}
	return names
}

var recordedFormats = map[string]string{
	"claude-code": "claude-code", "codex": "codex", "gemini-cli": "gemini-cli", "openhands": "openhands",
	"mini-swe-agent": "swe-agent", "orchestrators/amplifier": "amplifier", "hook-logs": "hook-log",
}

// notImported reports whether a file next to the recorded sessions is not a transcript.
func notImported(path string) bool {
	switch filepath.Ext(path) {
	case ".json":
		return filepath.Base(path) == "metadata.json"
	case ".jsonl", ".traj", ".responses":
		return false
	}
	return true
}

func TestFormats_DetectAllRecordedData(t *testing.T) {
	for folder, want := range recordedFormats {
		files := 0
		err := filepath.WalkDir(realdata.Path(t, filepath.FromSlash(folder)), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || notImported(path) {
				return err
			}
			files++
			head := headOf(t, path)
			if len(head) == 0 {
				return nil // one recording is empty
			}
			if got := detected(head, path); strings.Join(got, " ") != want {
				t.Errorf("%s: got %q, want %s", path, got, want)
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("%s: %d files, %v", folder, files, err)
		}
	}
}
