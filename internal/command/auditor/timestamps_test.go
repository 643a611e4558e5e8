package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/timestamp/timestamptest"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// stamped is a data directory with a ledger that has a time stamp.
type stamped struct {
	dir string
	tsa *timestamptest.TSA
	o   auditor.Options
}

func newStamped(t *testing.T) (*stamped, func(run string)) {
	t.Helper()
	s := &stamped{dir: t.TempDir(), tsa: timestamptest.New(t, timestamptest.Options{})}
	b := auditortest.Connect(t, auditortest.Server(t))
	u, err := timestamp.ParseURL(s.tsa.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.o = auditor.Options{Broker: b, DataDir: s.dir, Timestamps: anchor.Timestamps{URL: u, Interval: time.Hour}}
	p := auditortest.Outbox(t, b, "coder", "acme")
	grow := func(run string) {
		t.Helper()
		auditortest.PublishRun(t, p, run, 3)
		drainWith(t, s.o)
	}
	grow("r1")
	return s, grow
}

func (s *stamped) verify(tb testing.TB, more ...string) (int, verifier.Report) {
	tb.Helper()
	status, text := command(tb, append([]string{"verify", "--data-dir", s.dir, "--tenant", "acme", "--json"}, more...)...)
	var r verifier.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		tb.Fatalf("%v:\n%s", err, text)
	}
	return status, r
}

func (s *stamped) file(tb testing.TB) string {
	tb.Helper()
	path := auditortest.LedgerFile(tb, s.dir, "acme")
	names, err := timestamp.Names(path)
	if err != nil || len(names) != 1 {
		tb.Fatalf("got %v, %v", names, err)
	}
	return filepath.Join(timestamp.Dir(path), names[0])
}

//guarantee:timestamp-checked
func TestTimestamps_Verify(t *testing.T) {
	s, grow := newStamped(t)
	grow("r2")
	roots := []string{"--tsa-cert", s.tsa.Roots}
	status, r := s.verify(t)
	if ts := r.TimeStamps; status != 0 || ts == nil || ts.Stored != 1 || ts.Checked || ts.Newest != nil {
		t.Fatalf("without certificates: got status %d, %+v", status, ts)
	}
	status, r = s.verify(t, roots...)
	if ts := r.TimeStamps; status != 0 || ts.Good != 1 || ts.Newest == nil || ts.Newest.Size+ts.Newest.Behind != r.Leaves || ts.Newest.Behind == 0 ||
		ts.Newest.By != "CN=Test TSA,O=Example" || time.Since(ts.Newest.Latest) > time.Minute {
		t.Fatalf("got status %d, %+v", status, ts)
	}
	for want, args := range map[string][]string{
		"Time stamps:  GOOD         ": roots, "existed at 2": roots, "at the latest, by CN=Test TSA,O=Example; 1 time stamp good, ": roots,
		"Time stamps:  NOT CHECKED  1 time stamp stored: name the certificates of the authority with --tsa-cert\n": nil,
	} {
		if _, text := command(t, append([]string{"verify", "--data-dir", s.dir, "--tenant", "acme"}, args...)...); !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	// A time stamp is no anchor: anyone can get one for a ledger of their own.
	if status, r := s.verify(t, append(noPins(t), roots...)...); status != verifier.ExitUnanchored || r.Anchor.State != verifier.AnchorNone {
		t.Errorf("without a pin: got status %d, %+v", status, r.Anchor)
	}
	other := timestamptest.New(t, timestamptest.Options{})
	both := filepath.Join(t.TempDir(), "both.pem")
	auditortest.Put(t, both, string(auditortest.ReadFile(t, s.tsa.Roots))+string(auditortest.ReadFile(t, other.Roots)))
	for _, tt := range []struct {
		file string
		want int
	}{{other.Roots, verifier.ExitUnwitnessed}, {both, 0}, {filepath.Join(s.dir, "none"), 1}, {filepath.Join(s.dir, "keys", "ledger.pub"), 2}} {
		if status, text := command(t, "verify", "--data-dir", s.dir, "--tenant", "acme", "--tsa-cert", tt.file); status != tt.want {
			t.Errorf("%s: got status %d, want %d:\n%s", tt.file, status, tt.want, text)
		}
	}
}

//guarantee:timestamp-checked
func TestTimestamps_Damaged(t *testing.T) {
	s, _ := newStamped(t)
	file := s.file(t)
	stored := string(auditortest.ReadFile(t, file))
	for name, tt := range map[string]struct {
		text   string
		status int
	}{
		"Token":      {strings.Replace(stored, "MII", "MIJ", 1), verifier.ExitUnwitnessed},
		"Checkpoint": {strings.Replace(stored, "\nhooktrail/acme\n", "\nhooktrail/acmf\n", 1), verifier.ExitUnwitnessed},
		"Cut":        {stored[:len(stored)/2], verifier.ExitUnwitnessed},
		"Empty":      {"", verifier.ExitUnwitnessed},
	} {
		t.Run(name, func(t *testing.T) {
			auditortest.Put(t, file, tt.text)
			status, r := s.verify(t, "--tsa-cert", s.tsa.Roots)
			if ts := r.TimeStamps; status != tt.status || ts.BadCount != 1 || ts.Good != 0 || ts.Bad[0].Name != filepath.Base(file) || ts.Bad[0].Reason == "" {
				t.Errorf("got status %d, %+v", status, ts)
			}
			if status, r := s.verify(t); status != 0 || r.TimeStamps.BadCount != 1 {
				t.Errorf("without certificates: got status %d, %+v", status, r.TimeStamps)
			}
			if _, text := command(t, "verify", "--data-dir", s.dir, "--tenant", "acme"); !strings.Contains(text, "Time stamps:  BAD (1)") {
				t.Errorf("got\n%s", text)
			}
		})
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if status, r := s.verify(t, "--tsa-cert", s.tsa.Roots); status != verifier.ExitUnwitnessed || r.TimeStamps.Stored != 0 {
		t.Errorf("without time stamps: got status %d, %+v", status, r.TimeStamps)
	}
	if status, r := s.verify(t); status != 0 || r.TimeStamps != nil {
		t.Errorf("without both: got status %d, %+v", status, r.TimeStamps)
	}
}

// A ledger that is shorter than a time stamp, or another one, diverged.
//
//guarantee:timestamp-checked
func TestTimestamps_Diverged(t *testing.T) {
	s, grow := newStamped(t)
	path := auditortest.LedgerFile(t, s.dir, "acme")
	older := string(auditortest.ReadFile(t, path))
	first := string(auditortest.ReadFile(t, s.file(t)))
	s.o.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	grow("r2")
	auditortest.Put(t, path, older)
	for _, args := range [][]string{{"--tsa-cert", s.tsa.Roots}, nil} {
		if status, r := s.verify(t, args...); status != verifier.ExitDiverged || r.TimeStamps.DivergedCount != 1 {
			t.Errorf("%v: a ledger that was cut off: got status %d, %+v", args, status, r.TimeStamps)
		}
	}
	other, _ := newStamped(t)
	at := filepath.Join(timestamp.Dir(auditortest.LedgerFile(t, other.dir, "acme")), "1.timestamp")
	auditortest.Put(t, at, first)
	both := filepath.Join(t.TempDir(), "both.pem")
	auditortest.Put(t, both, string(auditortest.ReadFile(t, s.tsa.Roots))+string(auditortest.ReadFile(t, other.tsa.Roots)))
	status, r := other.verify(t, "--tsa-cert", both)
	if ts := r.TimeStamps; status != verifier.ExitDiverged || ts.Good != 1 || ts.DivergedCount != 1 || !strings.Contains(ts.Diverged[0].Reason, "it is signed by") {
		t.Errorf("a ledger of another key: got status %d, %+v", status, ts)
	}
}

//guarantee:timestamp-checked
func TestTimestamps_Bundle(t *testing.T) {
	s, grow := newStamped(t)
	grow("r2")
	file := filepath.Join(t.TempDir(), "r1.zip")
	if status, text := command(t, "export", "--data-dir", s.dir, "--tenant", "acme", "--run", "r1", "--out", file); status != 0 {
		t.Fatalf("status %d: %s", status, text)
	}
	away := &stamped{dir: t.TempDir()}
	key := filepath.Join(s.dir, "keys", "ledger.pub")
	other := timestamptest.New(t, timestamptest.Options{})
	for _, tt := range []struct {
		args []string
		want int
		good int
	}{{nil, 0, 0}, {[]string{"--tsa-cert", s.tsa.Roots}, 0, 1}, {[]string{"--tsa-cert", other.Roots}, verifier.ExitUnwitnessed, 0}} {
		status, r := away.verify(t, append([]string{file, "--key", key}, tt.args...)...)
		if ts := r.TimeStamps; status != tt.want || ts.Stored != 1 || ts.Good != tt.good || tt.good == 1 && ts.Newest.Behind != 0 {
			t.Errorf("%v: got status %d, %+v, problems %q", tt.args, status, ts, r.Problems)
		}
	}
	if err := os.Remove(s.file(t)); err != nil {
		t.Fatal(err)
	}
	file += "2"
	if status, text := command(t, "export", "--data-dir", s.dir, "--tenant", "acme", "--out", file); status != 0 {
		t.Fatalf("status %d: %s", status, text)
	}
	if status, r := away.verify(t, file, "--key", key); status != 0 || r.TimeStamps != nil {
		t.Errorf("without a time stamp: got status %d, %+v", status, r.TimeStamps)
	}
	if status, _ := away.verify(t, file, "--key", key, "--tsa-cert", s.tsa.Roots); status != verifier.ExitUnwitnessed {
		t.Errorf("without the required time stamp: got status %d", status)
	}
}

func TestTimestamps_Flags(t *testing.T) {
	for _, args := range [][]string{
		{"--timestamp-url", "tsa.example"}, {"--timestamp-url", "http://tsa.example", "--timestamp-interval", "1ms"},
	} {
		status, _, text := commandBoth(t, append([]string{"serve", "--data-dir", t.TempDir(), "--drain"}, args...)...)
		if status != 2 || !strings.Contains(text, args[len(args)-2]) {
			t.Errorf("%v: got status %d: %s", args, status, text)
		}
	}
}
