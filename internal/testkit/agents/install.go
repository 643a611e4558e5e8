package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// Env is the variable that selects tests with real agents. "session" selects one session of each
// agent, other values all.
const Env = "HOOKTRAIL_TEST_AGENTS"

const (
	installLimit = 5 * time.Minute
	pingLimit    = 20 * time.Second
	kept         = 2 // folders of installed agents, because a test may still use the older one
)

// Install returns npm's modules folder with the newest agents, which it installs once a week.
// Without [Env], it skips the test.
func Install(tb testing.TB) string {
	tb.Helper()
	if os.Getenv(Env) == "" {
		tb.Skipf("tests with real agents run with %s=all, as in make agents", Env)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		tb.Skipf("agents need a cache folder: %v", err)
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			tb.Skipf("agents need %s: %v", program, err)
		}
	}
	all := filepath.Join(cache, "hooktrail-test", "agents")
	if err := os.MkdirAll(all, 0o750); err != nil {
		tb.Fatal(err)
	}
	lock, err := filelock.Wait(tb.Context(), filepath.Join(all, "lock"), func() { tb.Log("another test installs the agents") })
	if err != nil {
		tb.Fatalf("wait for another installation: %v", err)
	}
	defer func() { _ = lock.Unlock() }()
	year, week := time.Now().ISOWeek()
	dir := filepath.Join(all, fmt.Sprintf("%d-%02d", year, week))
	if _, err := os.Stat(dir); err != nil {
		dir = fetch(tb, dir)
	}
	report(tb, dir)
	return filepath.Join(dir, "node_modules")
}

// fetch installs the agents into dir and returns it, or an older folder.
func fetch(tb testing.TB, dir string) string {
	tb.Helper()
	older, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*-*"))
	if err != nil {
		tb.Fatal(err)
	}
	slices.Sort(older)
	fresh := filepath.Join(filepath.Dir(dir), "new")
	if err := os.RemoveAll(fresh); err != nil { // of a killed test
		tb.Fatal(err)
	}
	args := []string{"install", "--prefix", fresh, "--no-package-lock", "--no-audit", "--no-fund"}
	for i := range All {
		args = append(args, All[i].Package+"@latest")
	}
	out, err := npm(tb, installLimit, args...)
	if err == nil {
		err = os.Rename(fresh, dir)
	}
	if err == nil {
		for ; len(older) >= kept; older = older[1:] {
			_ = os.RemoveAll(older[0]) // only space is lost
		}
		return dir
	}
	_ = os.RemoveAll(fresh)
	if _, silent := npm(tb, pingLimit, "ping"); silent == nil && !errors.Is(err, context.DeadlineExceeded) {
		tb.Fatalf("the registry of npm answers, but npm install fails: %v\n%s", err, out)
	}
	if len(older) == 0 {
		tb.Skipf("the agents are not installed, and the registry of npm is unreachable: %v\n%s", err, out)
	}
	return older[len(older)-1]
}

func npm(tb testing.TB, limit time.Duration, args ...string) ([]byte, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return out, cmp.Or(ctx.Err(), err)
}

// report logs the versions. An agent that is missing fails the test.
func report(tb testing.TB, dir string) {
	tb.Helper()
	var versions []string
	for i := range All {
		data, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(All[i].Package), "package.json"))
		var about struct{ Version string }
		if err == nil {
			err = json.Unmarshal(data, &about)
		}
		if err == nil {
			_, err = os.Stat(All[i].program(filepath.Join(dir, "node_modules")))
		}
		if err != nil {
			tb.Fatalf("%s is not installed: %v", All[i].Name, err)
		}
		versions = append(versions, All[i].Name+" "+about.Version)
	}
	tb.Logf("agents in %s: %s", dir, strings.Join(versions, ", "))
}
