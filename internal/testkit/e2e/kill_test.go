package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

var kills = race.Size(60, 8)

// The server and every service are killed and restarted while sessions are imported. In the end
// every event exists once. Projections of the same stream without kills have the same Merkle root,
// issues and counters.
//
//guarantee:consumer-killed
func TestStorm(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills processes for half a minute")
	}
	files := sessions(t)
	dir := t.TempDir()
	s := &storm{t: t, dir: dir, services: map[string]*process{}, rand: rand.New(rand.NewPCG(1, 2))}
	for _, name := range []string{"server", "auditor", "tracker", "metrics"} {
		s.startService(name)
	}
	runs := engineRuns(40)
	for next := 0; s.killed < kills || next < len(files); next++ {
		o := files[next%len(files)]
		s.publish(next < len(files), nil, "import", "--format", "claude-code", "--tenant", tenantOf(o), path(t, o))
		s.publish(false, runs, "pipe", "--tenant", engine)
	}
	s.stop()

	for _, o := range files {
		run(t, 0, "publisher", "import", "--format", "claude-code", "--data-dir", dir, "--tenant", tenantOf(o), path(t, o))
	}
	feed(t, runs, 0, "publisher", "pipe", "--data-dir", dir, "--tenant", engine)
	drain(t, dir)
	run(t, 0, "auditor", "verify", "--data-dir", dir, "--tenant", engine)
	if got := len(summaries(t, dir, engine)); got != 40 {
		t.Errorf("runs of the engine in the ledger: got %d, want 40", got)
	}
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

// publish runs publishers, some of which are killed, until one finishes. Without insist it gives up
// after a kill.
func (s *storm) publish(insist bool, stdin []byte, args ...string) {
	deadline := time.Now().Add(limit)
	for time.Now().Before(deadline) {
		p := start(s.t, stdin, "publisher", append(args, "--data-dir", s.dir)...)
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
	s.t.Fatalf("publisher %v did not get through within %v", args, limit)
}

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

// drain runs every consumer to the end of the stream. The tracker is first, because its decisions
// are events for the others.
func drain(t *testing.T, dir string) {
	t.Helper()
	run(t, 0, "tracker", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	run(t, 0, "metrics", "serve", "--drain", "--data-dir", dir)
}

func sessions(t *testing.T) []oracle {
	t.Helper()
	return drawn(slices.DeleteFunc(oracles(t), func(o oracle) bool {
		return !strings.Contains(o.File, "entireio-cli/") // TestGrowing has the growing snapshots
	}))
}

const engine = "engine"

// engineRuns returns count AUTOPILOT runs as JSON lines. Each gets an issue, and every third one
// fails.
func engineRuns(count int) []byte {
	var b bytes.Buffer
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	add := func(run, kind, data string) {
		at = at.Add(time.Second)
		fmt.Fprintf(&b, `{"specversion":"1.0","id":%q,"source":"/engine","type":"hooktrail.%s","time":%q,`+
			`"runid":%q,"stepid":"s1","runtype":"AUTOPILOT","agentrole":"CODER","data":%s}`+"\n",
			run+"-"+kind, kind, at.Format(time.RFC3339), run, data)
	}
	for i := range count {
		run, status, success := fmt.Sprintf("autopilot-%03d", i), "completed", true
		if i%3 == 0 {
			status, success = "failed", false
		}
		add(run, "run.started", `{"run_type":"AUTOPILOT"}`)
		add(run, "step.finished", fmt.Sprintf(`{"step_status":%q,"duration_ms":900,"tokens_used":{"input":10,"output":5}}`, status))
		add(run, "run.finished", fmt.Sprintf(`{"success":%t}`, success))
	}
	return b.Bytes()
}
