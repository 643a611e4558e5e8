package consume_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

var stormEvents = race.Size(100_000, 10_000)

const (
	childEnv = "HOOKTRAIL_CONSUME_CHILD" // URL and path of the projection, separated by a space
)

func TestMain(m *testing.M) {
	if url, path, ok := strings.Cut(os.Getenv(childEnv), " "); ok {
		if err := child(url, path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(url, path string) error {
	ctx := context.Background()
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	l, err := openLog(ctx, path)
	if err != nil {
		return err
	}
	return consume.Run(ctx, js, consume.Options{
		Durable: "storm", Batch: stormEvents / 200, Drain: true,
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Progress: func(g consume.Progress) { fmt.Println(g.Position.Sequence) },
	}, l)
}

type logbook struct {
	db    *projection.DB
	marks *projection.Marks
}

var logSchema = projection.Schema{
	Name: "log", Version: 1,
	Tables: "CREATE TABLE log (place INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER NOT NULL UNIQUE) STRICT;",
}

func openLog(ctx context.Context, path string) (*logbook, error) {
	db, err := projection.Open(ctx, path, logSchema, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	marks, err := db.LoadMarks(ctx)
	return &logbook{db: db, marks: marks}, err
}

func (l *logbook) Position(ctx context.Context) (consume.Position, error) { return l.db.Position(ctx) }

func (l *logbook) Apply(ctx context.Context, batch []consume.Message, next consume.Position) error {
	return l.db.Commit(ctx, next, l.marks, func(conn *sqlite.Conn) error {
		insert := conn.Prep("INSERT INTO log (n) VALUES (?)")
		for _, m := range batch {
			n, err := strconv.ParseUint(string(m.Data), 10, 64)
			if err != nil {
				return &consume.Poison{Sequence: m.Sequence, Reason: "not a number"}
			}
			if l.marks.Repeat(m.Address.Tenant, m.Address.Producer, n) {
				continue
			}
			insert.BindInt64(1, int64(n))
			if _, err := insert.Step(); err != nil {
				return err
			}
			if err := insert.Reset(); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkLog(t *testing.T, path string, n int) {
	t.Helper()
	err := projection.Read(t.Context(), path, logSchema, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT count(*), min(n), max(n), sum(n = place) FROM log", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				got := [4]int{stmt.ColumnInt(0), stmt.ColumnInt(1), stmt.ColumnInt(2), stmt.ColumnInt(3)}
				if want := [4]int{n, 1, n, n}; got != want {
					t.Errorf("count, min, max and number in place: got %v, want %v", got, want)
				}
				return nil
			},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fill publishes the events 1 to n. A part of each batch comes first, as after a failed attempt.
func fill(t *testing.T, s *natstest.Server, n int) {
	t.Helper()
	js := s.JetStream(t)
	subject, err := space.Event("acme", "p1", "r1", "run.started")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	send := func(first, last int) {
		for i := first; i <= last; i++ {
			_, err := js.PublishAsync(subject, strconv.AppendInt(nil, int64(i), 10), jetstream.WithStallWait(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for first := 1; first <= n; first += 500 {
		last := min(first+499, n)
		if rand.N(20) == 0 {
			send(first, first+rand.N(last-first+1))
		}
		send(first, last)
	}
	go func() { <-js.PublishAsyncComplete(); close(done) }()
	<-done
	if err := js.Conn().LastError(); err != nil {
		t.Fatal(err)
	}
}

func TestRun_StoppedAnywhereEndsWithExactlyAll(t *testing.T) {
	s := natstest.Listen(t, t.TempDir(), natstest.Options{NoSync: true})
	fill(t, s, stormEvents)
	path := filepath.Join(t.TempDir(), "log.db")
	l, err := openLog(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.db.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 5 {
		js := s.JetStream(t)
		ctx, cancel := context.WithCancel(t.Context())
		calls, last := 0, 5+rand.N(20)
		err := consume.Run(ctx, js, consume.Options{
			Durable: "storm", Batch: stormEvents / 200, StopTimeout: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
			Progress: func(consume.Progress) {
				if calls++; calls == last {
					time.AfterFunc(rand.N(5*time.Millisecond), cancel)
				}
			},
		}, l)
		if err != nil {
			t.Fatal(err)
		}
	}
	drain(t, s.JetStream(t), consume.Options{Durable: "storm"}, l)
	checkLog(t, path, stormEvents)
}

//guarantee:consumer-killed
func TestRun_KilledAnywhereEndsWithExactlyAll(t *testing.T) {
	s := natstest.Listen(t, t.TempDir(), natstest.Options{NoSync: true})
	fill(t, s, stormEvents)
	path := filepath.Join(t.TempDir(), "log.db")
	for range 5 {
		run := exec.CommandContext(t.Context(), os.Args[0])
		run.Env = append(os.Environ(), childEnv+"="+s.URL()+" "+path)
		run.Stderr = t.Output()
		out, err := run.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 5 + rand.N(20); n > 0 && lines.Scan(); n-- {
			continue
		}
		if err := run.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			continue // until the child has exited
		}
		if err := run.Wait(); err == nil {
			t.Fatal("it ended before it was killed")
		}
	}
	l, err := openLog(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	drain(t, s.JetStream(t), consume.Options{Durable: "storm"}, l)
	if err := l.db.Close(); err != nil {
		t.Fatal(err)
	}
	checkLog(t, path, stormEvents)
}
