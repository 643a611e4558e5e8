package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// containers runs the services of docker-compose.yml as processes, with a folder for each volume.
type containers struct {
	project *types.Project
	volumes string // of all volumes
	address string // of the server
	store   string // of the server; empty means a new one
}

func newContainers(t *testing.T) *containers {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join("..", "..", "..", "docker-compose.yml")})
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &containers{project: project, volumes: t.TempDir()}
}

func (c *containers) host(s types.ServiceConfig, text string) string {
	text = strings.ReplaceAll(text, "nats://nats:4222", "nats://"+c.address)
	for _, v := range s.Volumes {
		if text == v.Target || strings.HasPrefix(text, v.Target+"/") {
			return filepath.Join(c.volumes, v.Source) + strings.TrimPrefix(text, v.Target)
		}
	}
	return text
}

func (c *containers) start(t *testing.T, service string, command []string, more ...string) *process {
	t.Helper()
	s := c.project.Services[service]
	for name, value := range s.Environment {
		t.Setenv(name, c.host(s, *value))
	}
	if command == nil {
		command = s.Command
	}
	p := start(t, nil, command[0], append(slices.Clone(command[1:]), more...)...)
	for name := range s.Environment {
		if err := os.Unsetenv(name); err != nil { // the next service has its own
			t.Fatal(err)
		}
	}
	return p
}

func (c *containers) run(t *testing.T, service string, command []string, more ...string) string {
	t.Helper()
	p := c.start(t, service, command, more...)
	if status := p.status(t); status != 0 {
		t.Fatalf("%s: status %d\n%s", service, status, p.stderr.String())
	}
	return p.stdout.String()
}

// up runs what "docker compose up" runs before the services, with a tenant acme.
func (c *containers) up(t *testing.T) {
	t.Helper()
	creds := c.project.Services["credentials"]
	// The folder of the volumes stands for the folder of the mounts.
	into := filepath.Join(c.volumes, "creds")
	write := []string{"hooktrail", "nats", "creds", "--dir", into}
	if want := []string{"hooktrail", "nats", "creds", "--dir", "/creds"}; !slices.Equal(creds.Command, want) {
		t.Fatalf("credentials runs %v", creds.Command)
	}
	c.run(t, "credentials", write)
	c.run(t, "credentials", []string{"hooktrail", "tenant", "add", "acme", "--out", filepath.Join(c.volumes, "acme.nk")})
	c.run(t, "credentials", write)
	for _, v := range creds.Volumes {
		name, ok := strings.CutPrefix(v.Target, "/creds/")
		if !ok {
			continue
		}
		if err := os.Rename(filepath.Join(into, name), filepath.Join(c.volumes, v.Source)); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(into); err != nil || len(left) > 0 {
		t.Fatalf("credentials without a volume: %v, %v", left, err)
	}
	accounts, err := os.ReadFile(filepath.Join(c.volumes, "nats-accounts", "accounts.conf"))
	if err != nil {
		t.Fatal(err)
	}
	c.address = serveConf(t, accounts, func(o *server.Options) { o.StoreDir = cmp.Or(c.store, o.StoreDir) }).Addr().String()
	c.run(t, "streams", nil)
	c.run(t, "streams", nil) // "make up" again
	enrolment := c.project.Services["enrolment"]
	for _, v := range enrolment.Volumes { // Docker makes the folders of mounts
		if err := os.MkdirAll(filepath.Join(c.volumes, v.Source), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var enrol []string
	for _, text := range enrolment.Command {
		enrol = append(enrol, c.host(enrolment, text))
	}
	c.run(t, "enrolment", enrol)
	c.run(t, "enrolment", enrol)
}

// The commands of docker-compose.yml work with its keys and configuration.
//
//guarantee:deploy-auth
func TestDeploy_Compose(t *testing.T) {
	c := newContainers(t)
	c.up(t)
	publisher := c.start(t, "publisher", nil, "--listen", "127.0.0.1:0")
	post(t, publisher)
	c.run(t, "publisher", []string{"publisher", "import", "--format", "claude-code", session})
	for _, service := range []string{"tracker", "metrics", "auditor"} {
		c.run(t, service, nil, "--drain")
	}
	verdict := c.run(t, "auditor", []string{"auditor", "verify", "--require-enrolled"})
	if !strings.Contains(verdict, "VERIFIED") || !strings.Contains(verdict, "3 of 3 producers") {
		t.Errorf("got %s", verdict)
	}
}

var listening = regexp.MustCompile(`"address":"([^"]+)"`)

func post(t *testing.T, p *process) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		if m := listening.FindStringSubmatch(p.stderr.String()); m != nil {
			event := `{"specversion":"1.0","id":"posted","source":"/curl","type":"hooktrail.custom","time":"2026-01-01T00:00:00Z","data":{"name":"posted"}}`
			answer, err := http.Post("http://"+m[1]+"/v1/events", "application/cloudevents+json", strings.NewReader(event))
			if err != nil || answer.StatusCode != http.StatusAccepted {
				t.Fatalf("got %v, %v", answer, err)
			}
			answer.Body.Close()
			return
		}
		select {
		case <-p.done:
			t.Fatalf("the publisher ended:\n%s", p.stderr.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("the publisher does not listen:\n%s", p.stderr.String())
		}
	}
}

// At the server of docker-compose.yml, a client without a service's key cannot read, publish, purge
// or delete, and a service cannot exceed its rights.
//
//guarantee:deploy-auth
func TestDeploy_Strangers(t *testing.T) {
	c := newContainers(t)
	c.up(t)
	c.run(t, "publisher", []string{"publisher", "import", "--format", "claude-code", "--tenant", "other", session})
	url := "nats://" + c.address
	for name, option := range map[string]nats.Option{
		"nobody": nats.Name(""), "a password": nats.UserInfo("owner", "owner"), "a token": nats.Token("x"), "an unknown key": unknownKey(t),
	} {
		if nc, err := nats.Connect(url, option); !errors.Is(err, nats.ErrAuthorization) {
			nc.Close()
			t.Errorf("%s: got %v, want %v", name, err, nats.ErrAuthorization)
		}
	}
	owner := streamsOf(t, connect(t, url, filepath.Join(c.volumes, "owner-key", "owner.nk")))
	before := stored(t, owner)
	if before["HOOKTRAIL_EV"] < 2 {
		t.Fatalf("the streams hold %v", before)
	}
	for user, seed := range map[string]string{
		"engine":  "acme.nk",
		"metrics": "metrics-key/metrics.nk", "publisher": "publisher-key/publisher.nk", "reader": "reader-key/reader.nk",
	} {
		attack(t, user, connect(t, url, filepath.Join(c.volumes, seed)))
	}
	if after := stored(t, owner); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the streams held %v, and hold %v", before, after)
	}
}

// attack tries what only the owner may do, and requires refusals.
func attack(t *testing.T, user string, nc *nats.Conn) {
	t.Helper()
	writes := []string{"hooktrail.dlq.tracker", "$KV.HOOKTRAIL_CHECKPOINTS.other", "$KV.HOOKTRAIL_CHECKPOINTS.lease.auditor"}
	if user != "publisher" { // publishes the events of all tenants
		writes = append(writes, "hooktrail.ev.other.p.r.custom", "hooktrail.chain.other.p")
	}
	for _, stream := range []string{"HOOKTRAIL_EV", "HOOKTRAIL_DLQ", "HOOKTRAIL_ADV", "KV_HOOKTRAIL_CHECKPOINTS"} {
		for _, api := range []string{"PURGE", "DELETE", "UPDATE", "MSG.DELETE", "SNAPSHOT"} {
			writes = append(writes, "$JS.API.STREAM."+api+"."+stream)
		}
		if user != "reader" && user != "metrics" || stream != "HOOKTRAIL_EV" { // these two read events
			writes = append(writes, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.CONSUMER.CREATE."+stream+"."+user)
		}
		writes = append(writes, "$JS.API.CONSUMER.CREATE."+stream+".spy", "$JS.API.CONSUMER.DURABLE.CREATE."+stream+".spy", "$JS.API.DIRECT.GET."+stream)
	}
	for _, subject := range writes {
		denied(t, nc, user+" publishes to "+subject, func() error { return nc.PublishRequest(subject, nc.NewInbox(), []byte("{}")) })
	}
	for _, subject := range []string{"hooktrail.ev.>", "hooktrail.chain.>", "$KV.>", ">", "$JS.>"} {
		denied(t, nc, user+" listens to "+subject, func() error {
			_, err := nc.SubscribeSync(subject)
			return err
		})
	}
}

func denied(t *testing.T, nc *nats.Conn, what string, do func() error) {
	t.Helper()
	before := nc.LastError()
	if err := errors.Join(do(), nc.Flush()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := nc.LastError(); err == before || !errors.Is(err, nats.ErrPermissionViolation) { //nolint:errorlint // each report is another
		t.Errorf("%s: got %v, want a refusal", what, err)
	}
}

// unknownKey returns the key of a tenant of another data directory.
func unknownKey(t *testing.T) nats.Option {
	t.Helper()
	seed := filepath.Join(t.TempDir(), "acme.nk")
	run(t, 0, "hooktrail", "tenant", "add", "acme", "--out", seed, "--data-dir", t.TempDir())
	return keyOf(t, seed)
}

func keyOf(t *testing.T, seed string) nats.Option {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func connect(t *testing.T, url, seed string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, keyOf(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}) // refusals are expected
	return nc
}

func streamsOf(t *testing.T, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func stored(t *testing.T, js jetstream.JetStream) map[string]uint64 {
	t.Helper()
	counts := map[string]uint64{}
	for info := range js.ListStreams(t.Context()).Info() {
		counts[info.Config.Name] = info.State.Msgs
	}
	return counts
}

// Streams of an earlier server without accounts appear after the account's folder is renamed.
func TestDeploy_OldVolume(t *testing.T) {
	c := newContainers(t)
	store := t.TempDir()
	old := natstest.Listen(t, store)
	run(t, 0, "publisher", "import", "--format", "claude-code", "--nats-url", old.URL(), "--data-dir", t.TempDir(), session)
	before := stored(t, old.JetStream(t))
	old.Stop()
	folder := filepath.Join(store, "jetstream")
	if err := os.Rename(filepath.Join(folder, "$G"), filepath.Join(folder, broker.OwnerAccount)); err != nil {
		t.Fatal(err)
	}
	c.store = store
	c.up(t)
	after := stored(t, streamsOf(t, connect(t, "nats://"+c.address, filepath.Join(c.volumes, "owner-key", "owner.nk"))))
	if fmt.Sprint(after) != fmt.Sprint(before) || before["HOOKTRAIL_EV"] == 0 {
		t.Errorf("the streams held %v, and hold %v", before, after)
	}
}
