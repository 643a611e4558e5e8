package e2e

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// kills is how many processes the storm ends at random moments.
const kills = 60

// TestStorm kills the server and every service while sessions are imported, and
// starts each of them again. Afterwards everything is there, once, and a second
// set of projections, built from the same stream without a single kill, is the
// same: Merkle root, issues, counters.
func TestStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes for half a minute")
	}
	files := sessions(t)
	dir := t.TempDir()
	s := &storm{t: t, dir: dir, services: map[string]*process{}, rand: rand.New(rand.NewPCG(1, 2))}
	for _, name := range []string{"server", "auditor", "tracker", "metrics"} {
		s.startService(name)
	}
	for next := 0; s.killed < kills || next < len(files); next++ {
		s.importFile(files[next%len(files)], next < len(files))
	}
	s.stop()

	for _, o := range files {
		run(t, 0, "publisher", "import", "--format", "claude-code", "--data-dir", dir, "--tenant", tenantOf(o), path(t, o))
	}
	drain(t, dir)
	for _, o := range files {
		run(t, 0, "auditor", "verify", "--data-dir", dir, "--tenant", tenantOf(o))
		checkOracle(t, dir, o)
	}

	again := t.TempDir()
	if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, projection := range []string{"ledger", "agentfs", "tracker", "beads", "metrics"} {
		if err := os.RemoveAll(filepath.Join(again, projection)); err != nil {
			t.Fatal(err)
		}
	}
	drain(t, again)
	compare(t, dir, again)
}

// storm is a deployment in which processes die.
type storm struct {
	t        *testing.T
	dir      string
	services map[string]*process
	rand     *rand.Rand
	killed   int
}

func (s *storm) startService(name string) {
	args := []string{"--data-dir", s.dir}
	switch name {
	case "server":
	case "metrics":
		args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	default:
		args = append([]string{"serve"}, args...)
	}
	s.services[name] = start(s.t, nil, name, args...)
}

// importFile imports one session with a publisher that is killed now and then,
// until one gets through. Without insist it gives up once it was killed.
func (s *storm) importFile(o oracle, insist bool) {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		p := start(s.t, nil, "publisher", "import", "--format", "claude-code",
			"--data-dir", s.dir, "--tenant", tenantOf(o), path(s.t, o))
		for alive := true; alive; {
			select {
			case <-p.done:
				alive = false
			case <-time.After(time.Duration(s.rand.IntN(400)) * time.Millisecond):
				s.killOne(p)
			}
		}
		if p.cmd.ProcessState.ExitCode() == 0 || !insist {
			return
		}
	}
	s.t.Fatalf("%s was not imported within %v", o.File, limit)
}

// killOne ends the publisher or one of the services, as long as kills are due.
func (s *storm) killOne(publisher *process) {
	if s.killed >= kills {
		return
	}
	s.killed++
	names := slices.Sorted(maps.Keys(s.services))
	i := s.rand.IntN(len(names) + 1)
	if i == len(names) {
		publisher.kill()
		return
	}
	s.services[names[i]].kill()
	s.startService(names[i])
}

func (s *storm) stop() {
	for _, p := range s.services {
		p.kill()
	}
}

// drain lets every consumer handle the stream to its end.
func drain(t *testing.T, dir string) {
	t.Helper()
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "tracker", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "metrics", "serve", "--drain", "--data-dir", dir)
}

// sessions returns the recorded sessions of the storm: small enough for many
// kills, different enough for every path.
func sessions(t *testing.T) []oracle {
	t.Helper()
	all := oracles(t)
	return slices.DeleteFunc(all, func(o oracle) bool {
		return !strings.Contains(o.File, "entireio-cli/") // growing snapshots have a test of their own
	})
}
