// Package pythontest spawns python3 for benchmarks: what a hook that is a script
// costs before its first line.
package pythontest

import (
	"os/exec"
	"testing"
	"time"
)

// Find returns the interpreter that python3 runs in the end, not a shell script
// that looks for it, as those of pyenv do: that would be measured with it, and
// flatter whatever is compared. It skips tb where there is none.
func Find(tb testing.TB) string {
	tb.Helper()
	python, err := exec.CommandContext(tb.Context(), "python3", "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil || len(python) == 0 {
		tb.Skipf("python3 is not here: %v", err)
	}
	return string(python)
}

// Spawn runs python -c pass to its end and returns how long that took.
func Spawn(tb testing.TB, python string) time.Duration {
	tb.Helper()
	began := time.Now()
	if err := exec.CommandContext(tb.Context(), python, "-c", "pass").Run(); err != nil {
		tb.Fatal(err)
	}
	return time.Since(began)
}
