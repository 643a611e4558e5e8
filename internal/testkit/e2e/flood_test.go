package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/stream/admission"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

// A client without credentials sends events of 3,000 new tenants over NATS and HTTP. "hooktrail up"
// creates ledgers up to its limit, uses less than 200 MB, and still accepts the events of another
// tenant.
//
//guarantee:tenant-flood
func TestFlood_NewTenants(t *testing.T) {
	dir := t.TempDir()
	run(t, 0, "hooktrail", "tenant", "add", "acme", "--out", filepath.Join(t.TempDir(), "acme.nk"), "--data-dir", dir)
	up := start(t, nil, "hooktrail", "up", "--http-listen", "127.0.0.1:0", "--data-dir", dir)
	address := within(t, up, regexp.MustCompile(`events\s+POST (http://\S+)/v1/events`))
	nc, err := nats.Connect(within(t, up, regexp.MustCompile(`nats\s+(nats://\S+)`)))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for i := range 3000 {
		if err := nc.Publish(fmt.Sprintf("hooktrail.ev.flood-%d.p.r.custom", i), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	var batch strings.Builder
	for i := range 3000 {
		fmt.Fprintln(&batch, event("http-"+strconv.Itoa(i)))
	}
	if status := send(t, address, "application/x-ndjson", batch.String()); status != http.StatusForbidden {
		t.Errorf("new tenants over HTTP: status %d, want %d", status, http.StatusForbidden)
	}
	for _, known := range []string{"acme", "default"} {
		if status := send(t, address, "application/cloudevents+json", event(known)); status != http.StatusAccepted {
			t.Errorf("tenant %s: status %d", known, status)
		}
	}
	seen := func(tenant string) bool {
		l, err := ledger.OpenTenant(filepath.Join(dir, "ledger"), tenant)
		if err != nil {
			return false
		}
		defer l.Close()
		c, err := l.Newest(t.Context())
		return err == nil && c.Size > 0
	}
	began := time.Now()
	for !seen("acme") || !seen("default") {
		if time.Since(began) > limit {
			t.Fatalf("the events of others are not in their ledgers:\n%s", up.stderr.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
	took := time.Since(began)
	ledgers := func() (list []string) {
		list, err := ledger.Tenants(filepath.Join(dir, "ledger"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	lag := regexp.MustCompile(`hooktrail_part_lag_messages\{part="auditor"\} 0\n`)
	for len(ledgers()) < admission.DefaultLimit || !lag.MatchString(get(t, address+"/metrics")) {
		if time.Since(began) > limit {
			t.Fatal("the auditor does not reach the end of the stream")
		}
		time.Sleep(50 * time.Millisecond)
	}
	most, tenants := peak(t, up), ledgers()
	t.Logf("%d ledgers, %d MB, others after %v", len(tenants), most>>20, took.Round(time.Millisecond))
	if len(tenants) > admission.DefaultLimit+2 { // acme and default were there before
		t.Errorf("%d ledgers", len(tenants))
	}
	if most > 200<<20 && !race.Enabled {
		t.Errorf("it used %d MB", most>>20)
	}
	if n := strings.Count(up.stderr.String(), "tenant refused"); n == 0 || n > 100 {
		t.Errorf("the log reports %d refused tenants", n)
	}
}

func event(tenant string) string {
	return `{"specversion":"1.0","id":"` + tenant + `","source":"/curl","type":"hooktrail.custom","time":"2026-01-01T00:00:00Z","tenant":"` +
		tenant + `","data":{"name":"n"}}`
}

func send(t testing.TB, address, media, body string) (status int) {
	t.Helper()
	answer, err := http.Post(address+"/v1/events", media, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

func get(t testing.TB, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func within(t testing.TB, p *process, line *regexp.Regexp) string {
	t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if m := line.FindStringSubmatch(p.stdout.String()); m != nil {
			return m[1]
		}
		select {
		case <-p.done:
			t.Fatalf("it ended:\n%s", p.stderr.String())
		default:
		}
	}
	t.Fatalf("it does not print %s:\n%s", line, p.stderr.String())
	return ""
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

func peak(t *testing.T, p *process) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	m := highWater.FindSubmatch(data)
	if err != nil || m == nil {
		t.Skip("the memory of a process cannot be read here")
	}
	kb, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
