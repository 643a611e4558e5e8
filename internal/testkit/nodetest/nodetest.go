// Package nodetest runs npm programs that read formats of Hooktrail.
package nodetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Installed locates installed npm programs.
type Installed struct {
	Node string
	Dir  string // has node_modules and package.json
}

// Install installs the dependencies of a package.json once, or skips the test. If
// HOOKTRAIL_TEST_REQUIRE is 1, the test fails instead.
func Install(tb testing.TB, manifest string) Installed {
	tb.Helper()
	skip := tb.Skipf
	if os.Getenv("HOOKTRAIL_TEST_REQUIRE") == "1" {
		skip = tb.Fatalf
	}
	data, err := os.ReadFile(filepath.Clean(manifest))
	if err != nil {
		tb.Fatal(err)
	}
	var about struct{ Name string }
	if err := json.Unmarshal(data, &about); err != nil || about.Name == "" {
		tb.Fatalf("%s: missing name: %v", manifest, err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		skip("%s needs node: %v", about.Name, err)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		skip("%s needs npm: %v", about.Name, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		skip("%s needs a cache folder: %v", about.Name, err)
	}
	sum := sha256.Sum256(data)
	dir := filepath.Join(cache, "hooktrail-test", about.Name+"-"+hex.EncodeToString(sum[:4]))
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err == nil {
		return Installed{node, dir}
	}
	if err := install(tb, npm, dir, data); err != nil {
		skip("%s is not available: %v", about.Name, err)
	}
	return Installed{node, dir}
}

func install(tb testing.TB, npm, dir string, manifest []byte) error {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "new-*") //nolint:usetesting // it outlives the test, for the next run
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := os.WriteFile(filepath.Join(fresh, "package.json"), manifest, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(tb.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-package-lock", "--no-audit", "--no-fund")
	cmd.Dir = fresh
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// Run runs a script, with the modules in NODE_TEST_MODULES, and returns its output.
func (i Installed) Run(tb testing.TB, script string, args ...string) []byte {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), i.Node, append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), "NODE_TEST_MODULES="+i.Dir)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			tb.Fatalf("%s %v: %v\n%s", script, args, err, exit.Stderr)
		}
		tb.Fatalf("%s %v: %v", script, args, err)
	}
	return out
}
