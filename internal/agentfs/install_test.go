package agentfs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// client is the real client, from npm: what the files are for.
type client struct {
	sdk  string // the folder that has it installed
	node string
}

// installClient installs the client that testdata/package.json names into a
// cache folder, once. Where that cannot be done the test is skipped, or fails
// if HOOKTRAIL_TEST_REQUIRE is 1.
func installClient(t *testing.T) client {
	t.Helper()
	skip := t.Skipf
	if os.Getenv("HOOKTRAIL_TEST_REQUIRE") == "1" {
		skip = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		skip("the AgentFS client needs node: %v", err)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		skip("the AgentFS client needs npm: %v", err)
	}
	var manifest struct{ Dependencies map[string]string }
	data, err := os.ReadFile(filepath.Join("testdata", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	version := manifest.Dependencies["agentfs-sdk"]
	cache, err := os.UserCacheDir()
	if err != nil {
		skip("the AgentFS client needs a cache folder: %v", err)
	}
	sdk := filepath.Join(cache, "hooktrail-test", "agentfs-sdk-"+version)
	if _, err := os.Stat(filepath.Join(sdk, "node_modules", "agentfs-sdk", "package.json")); err == nil {
		return client{sdk, node}
	}
	if err := install(t, npm, sdk, "agentfs-sdk@"+version, data); err != nil {
		skip("the AgentFS client cannot be had: %v", err)
	}
	return client{sdk, node}
}

// install makes the folder sdk, whole or not at all.
func install(t *testing.T, npm, sdk, what string, manifest []byte) error {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(sdk), 0o750); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(sdk), "new-*") //nolint:usetesting // it is renamed into the cache
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing is left of it after the rename
	if err := os.WriteFile(filepath.Join(dir, "package.json"), manifest, 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", what)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, out)
	}
	if err := os.Rename(dir, sdk); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

func (c client) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.node, append([]string{filepath.Join("testdata", "client.mjs")}, args...)...)
	cmd.Env = append(os.Environ(), "AGENTFS_SDK="+c.sdk)
	return cmd
}

// run has the client do one thing with a file, and decodes what it prints.
func (c client) run(t *testing.T, what, file string, into any) {
	t.Helper()
	cmd := c.command(t, what, file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("client %s: %v\n%s", what, err, stderr.Bytes())
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("client %s: %v in %s", what, err, out)
	}
}
