package broker_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

func TestOpen_External(t *testing.T) {
	s := natstest.Listen(t, t.TempDir(), natstest.Options{NoStreams: true})
	b := open(t, broker.Options{URL: s.URL()})
	if b.Embedded() {
		t.Error("it says that it runs the server")
	}
	publish(t, b)
	for _, name := range []string{"HOOKTRAIL_EV", "HOOKTRAIL_DLQ", "HOOKTRAIL_ADV", "KV_HOOKTRAIL_CHECKPOINTS"} {
		if _, err := b.JetStream().Stream(t.Context(), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpen_ExternalOutOfReach(t *testing.T) {
	s := natstest.Listen(t, t.TempDir())
	s.Stop()
	opts := broker.Options{URL: strings.Replace(s.URL(), "//", "//me:secret@", 1), ConnectTimeout: 300 * time.Millisecond}
	_, err := broker.Open(t.Context(), opts)
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "connect to nats://127.0.0.1") {
		t.Errorf("got %v, want an error with the address and without the password", err)
	}
	opts = broker.Options{URL: s.URL(), StreamMaxBytes: 64 * mib}
	opened := make(chan error, 1)
	go func() {
		b, err := broker.Open(t.Context(), opts)
		if err == nil {
			err = b.Close(t.Context())
		}
		opened <- err
	}()
	s.Restart(t)
	if err := <-opened; err != nil {
		t.Errorf("once it is there: %v", err)
	}
}

func TestOpen_Later(t *testing.T) {
	s := natstest.Listen(t, t.TempDir(), natstest.Options{NoStreams: true})
	s.Stop()
	b := open(t, broker.Options{URL: s.URL(), Later: true, StreamMaxBytes: 64 * mib})
	if b.Conn().IsConnected() {
		t.Fatal("connected to a server that is away")
	}
	s.Restart(t)
	for made := false; !made; {
		_, err := b.JetStream().Stream(t.Context(), "HOOKTRAIL_EV")
		made = err == nil
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	publish(t, b)
	never := open(t, broker.Options{URL: "nats://127.0.0.1:1", Later: true})
	if never.Conn().IsConnected() {
		t.Error("connected to nobody")
	}
}

func TestOpen_Context(t *testing.T) {
	s := natstest.Listen(t, t.TempDir())
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	folder := filepath.Join(config, "nats", "context")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]string{"description": "test", "url": s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "prod.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	publish(t, open(t, broker.Options{URL: "nats://context:prod"}))

	began := time.Now()
	_, err = broker.Open(t.Context(), broker.Options{URL: "nats://context:nobody"})
	if err == nil || !strings.Contains(err.Error(), `"nobody"`) {
		t.Errorf("got %v, want an error that names the context", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v: retried what cannot work", took)
	}
}

func TestOpen_DriftIsReportedAndKept(t *testing.T) {
	s := natstest.Listen(t, t.TempDir(), natstest.Options{NoStreams: true})
	js := s.JetStream(t)
	made := jetstream.StreamConfig{
		Name: "HOOKTRAIL_EV", Subjects: []string{"hooktrail.ev.>", "hooktrail.chain.>", "more"},
		MaxAge: time.Hour, MaxBytes: mib, AllowDirect: true, AllowAtomicPublish: true, Duplicates: 2 * time.Minute,
		Compression: jetstream.S2Compression, Description: "mine",
	}
	if _, err := js.CreateStream(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the first call changed nothing
		b := open(t, broker.Options{URL: s.URL(), StreamMaxBytes: 64 * mib})
		want := []string{
			"HOOKTRAIL_EV Subjects: want hooktrail.chain.> hooktrail.ev.>, got hooktrail.chain.> hooktrail.ev.> more",
			"HOOKTRAIL_EV Discard: want DiscardNew, got DiscardOld",
			"HOOKTRAIL_EV MaxBytes: want 67108864, got 1048576",
			"HOOKTRAIL_EV MaxAge: want 720h0m0s, got 1h0m0s",
			"HOOKTRAIL_EV DenyDelete: want true, got false",
			"HOOKTRAIL_EV DenyPurge: want true, got false",
		}
		if diff := cmp.Diff(want, b.Drift()); diff != "" {
			t.Errorf("drift (-want +got):\n%s", diff)
		}
		if len(b.Warnings()) < len(want) {
			t.Errorf("warnings: got %q", b.Warnings())
		}
	}
}

func TestEnsureStreams_OwnSpace(t *testing.T) {
	js := natstest.Start(t).JetStream(t)
	space := subjects.Space{Prefix: "b.", StreamPrefix: "B_"}
	for range 2 {
		drift, err := broker.EnsureStreams(t.Context(), js, space, broker.StreamOptions{DefaultBytes: mib})
		if err != nil || len(drift) > 0 {
			t.Fatalf("drift %q, error %v", drift, err)
		}
	}
	_, err := broker.EnsureStreams(t.Context(), js, subjects.Space{StreamPrefix: "C_"}, broker.StreamOptions{DefaultBytes: mib})
	if err == nil || !strings.Contains(err.Error(), "another subject prefix") {
		t.Errorf("got %v, want an error that names the fix", err)
	}
}

func TestEnsureStreams_AlarmsAndGivenUpMessagesAreKept(t *testing.T) {
	s := natstest.Start(t)
	js := s.JetStream(t)
	stream, err := js.Stream(t.Context(), "HOOKTRAIL_EV")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), chain(t), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	c, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "d"})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := c.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := msg.TermWithReason("no use"); err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxAge = time.Hour
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"HOOKTRAIL_DLQ", "HOOKTRAIL_ADV"} {
		c, err := js.CreateConsumer(t.Context(), name, jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy})
		if err != nil {
			t.Fatal(err)
		}
		msg, err := c.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(msg.Subject(), "HOOKTRAIL_EV") {
			t.Errorf("%s: got a message on %s", name, msg.Subject())
		}
	}
}
