package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/testkit/pythontest"
)

const hookRuns = 7

// BenchmarkHook measures publisher hook from start to exit, with and without a running publisher.
// It compares with /bin/true and python3 -c pass.
func BenchmarkHook(b *testing.B) {
	python := pythontest.Find(b)
	binary := filepath.Join(b.TempDir(), "publisher")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", binary, "../../../cmd/publisher").CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	down, up := b.TempDir(), b.TempDir()
	serving(b, up, "--hooks", hooksFile(b))
	payload := call("PreToolUse", 1)
	variants := []struct {
		name string
		argv []string
	}{
		{"true", []string{"/bin/true"}},
		{"python3", []string{python, "-c", "pass"}},
		{"down", []string{binary, "hook", "claude-code", "--data-dir", down}},
		{"decided", []string{binary, "hook", "claude-code", "--data-dir", up}},
	}
	took := map[string][]float64{}
	for b.Loop() {
		for range hookRuns {
			for _, v := range variants {
				took[v.name] = append(took[v.name], float64(spawn(b, payload, v.argv))/float64(time.Millisecond))
			}
		}
	}
	median := func(name string) float64 {
		slices.Sort(took[name])
		return took[name][len(took[name])/2]
	}
	for _, v := range variants {
		b.ReportMetric(median(v.name), v.name+"-ms")
	}
	b.ReportMetric(median("down")/median("python3"), "down/python3")
	b.ReportMetric(median("decided")/median("python3"), "decided/python3")
	b.ReportMetric(0, "ns/op")
}

func spawn(b *testing.B, stdin []byte, argv []string) time.Duration {
	b.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(stdin), os.Stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %v", argv, err)
	}
	return time.Since(began)
}
