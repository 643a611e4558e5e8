package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const hookRuns = 31

// BenchmarkHook measures the programs for hooks from start to exit, with and without a running
// publisher. It compares with /bin/true, which starts and does nothing, with an empty Go program, and
// with one that appends a byte to a file and syncs it. The goals of hooktrail-hook are 3 with a
// publisher and 4 without. Without a publisher a second program starts. Two empty Go programs already
// take 3.7, so the second goal is not reached.
func BenchmarkHook(b *testing.B) {
	bin := b.TempDir()
	for _, program := range []string{"publisher", "hooktrail-hook", "hooktrail-capture"} {
		build := exec.Command("go", "build", "-trimpath", "-o", bin, "../../../cmd/"+program)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			b.Fatalf("build: %v\n%s", err, out)
		}
	}
	empty := program(b, bin, "empty", "package main\n\nfunc main() {}\n")
	synced := program(b, bin, "synced", syncing)
	down, up := b.TempDir(), b.TempDir()
	serving(b, up, "--hooks", hooksFile(b))
	hook, publisher := filepath.Join(bin, "hooktrail-hook"), filepath.Join(bin, "publisher")
	variants := []struct {
		name string
		argv []string
	}{
		{"true", []string{"/bin/true"}},
		{"empty", []string{empty}},
		{"synced", []string{synced, filepath.Join(down, "synced")}},
		{"decided", []string{hook, "claude-code", "--data-dir", up}},
		{"down", []string{hook, "claude-code", "--data-dir", down}},
		{"publisher-decided", []string{publisher, "hook", "claude-code", "--data-dir", up}},
		{"publisher-down", []string{publisher, "hook", "claude-code", "--data-dir", down}},
	}
	took := map[string][]float64{}
	calls := 0
	for b.Loop() {
		for range hookRuns {
			for _, v := range variants {
				calls++
				took[v.name] = append(took[v.name], float64(spawn(b, call("PreToolUse", calls), v.argv))/float64(time.Millisecond))
			}
		}
	}
	at := func(name string, share float64) float64 { return took[name][int(share*float64(len(took[name])-1))] }
	for _, v := range variants {
		slices.Sort(took[v.name])
		b.ReportMetric(at(v.name, 0.5), v.name+"-ms")
		if v.name != "true" {
			b.ReportMetric(at(v.name, 0.5)/at("true", 0.5), v.name+"/true")
		}
		b.Logf("%-18s median %.2f ms, 10%% %.2f ms, 90%% %.2f ms", v.name, at(v.name, 0.5), at(v.name, 0.1), at(v.name, 0.9))
	}
	b.ReportMetric(0, "ns/op")
}

// syncing is the least that a program does that stores events on disk.
const syncing = `package main

import (
	"errors"
	"os"
)

func main() {
	f, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString("x")
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		panic(err)
	}
}
`

// program builds a program into a folder and returns its path.
func program(b *testing.B, dir, name, source string) string {
	b.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".go", []byte(source), 0o600); err != nil {
		b.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", path, path+".go")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	return path
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
