package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const (
	fairRounds = 3   // odd, for the median
	fairPosts  = 100 // of the quiet tenant in a phase
	fairPause  = 50 * time.Millisecond
	fairBatch  = 200
)

// BenchmarkFair measures the time from POST to the leaf for single events of one tenant, while
// another floods the same "hooktrail up" over four connections. "below" is three fifths of a
// tenant's default limit. "above" sends as fast as it can and ignores Retry-After. The goal is a
// p99 below three times that without a flood in the same round.
func BenchmarkFair(b *testing.B) {
	u := newFairUp(b)
	ratios := map[string][]float64{}
	for b.Loop() {
		for range fairRounds {
			quiet := u.phase(b, 0)
			for name, pause := range map[string]time.Duration{"below": 4 * fairBatch * time.Second / 3000, "above": time.Nanosecond} {
				p99 := u.phase(b, pause)
				ratios[name] = append(ratios[name], float64(p99)/float64(quiet))
				b.Logf("p99 %v without a flood, %v with a flood %s the limit", quiet, p99, name)
			}
		}
	}
	for name, list := range ratios {
		slices.Sort(list)
		b.ReportMetric(list[len(list)/2], name+"-p99/quiet-p99")
		b.Logf("%s: median %.2f, from %.2f to %.2f", name, list[len(list)/2], list[0], list[len(list)-1])
	}
	b.ReportMetric(0, "ns/op")
}

type fairUp struct {
	dir, address string
	posted       int
	quiet        *ledger.Reader // of the quiet tenant; nil before it exists
	leaf         int64          // last leaf that was read
}

func newFairUp(b *testing.B) *fairUp {
	b.Helper()
	u := &fairUp{dir: b.TempDir(), leaf: -1}
	up := start(b, nil, "hooktrail", "up", "--http-listen", "127.0.0.1:0", "--data-dir", u.dir)
	u.address = within(b, up, regexp.MustCompile(`events\s+POST (http://\S+)/v1/events`))
	for u.post(b, "quiet") != http.StatusAccepted {
		time.Sleep(20 * time.Millisecond)
	}
	for len(u.arrived(b)) == 0 {
		time.Sleep(20 * time.Millisecond)
	}
	return u
}

func (u *fairUp) post(b *testing.B, tenant string) (status int) {
	b.Helper()
	u.posted++
	return send(b, u.address, "application/cloudevents+json", fairEvent(tenant, fmt.Sprint(u.posted)))
}

func fairEvent(tenant, id string) string {
	return `{"specversion":"1.0","id":"` + id + `","source":"/bench","type":"hooktrail.custom","time":"2026-01-01T00:00:00Z","tenant":"` +
		tenant + `","runid":"r","data":{"name":"n","value":"` + strings.Repeat("x", 300) + `"}}`
}

func (u *fairUp) arrived(b *testing.B) (list []ledger.Entry) {
	b.Helper()
	if u.quiet == nil {
		var err error
		if u.quiet, err = ledger.OpenTenant(filepath.Join(u.dir, "ledger"), "quiet"); err != nil {
			return nil // not yet
		}
		b.Cleanup(func() { _ = u.quiet.Close() }) // only read
	}
	for e, err := range u.quiet.After(b.Context(), u.leaf) {
		if err != nil {
			b.Fatal(err)
		}
		if u.leaf = e.Leaf; e.ID != "" {
			list = append(list, e)
		}
	}
	return list
}

// phase posts at a fixed rate during a flood with this pause between batches (0 is no flood), waits
// until the flood has arrived, and returns the p99.
func (u *fairUp) phase(b *testing.B, pause time.Duration) (p99 time.Duration) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var flooding sync.WaitGroup
	if pause > 0 {
		for i := range 4 {
			flooding.Go(func() { u.flood(ctx, fmt.Sprint(time.Now().UnixNano(), "-", i), pause) })
		}
		time.Sleep(time.Second)
	}
	began := map[string]time.Time{}
	var took, stored []time.Duration
	for next := time.Now(); len(took) < fairPosts; {
		if len(began)+len(took) < fairPosts && !time.Now().Before(next) {
			next = next.Add(fairPause)
			at := time.Now()
			if status := u.post(b, "quiet"); status != http.StatusAccepted {
				b.Fatalf("the quiet tenant: status %d", status)
			}
			began[fmt.Sprint(u.posted)] = at
		}
		for _, e := range u.arrived(b) {
			took = append(took, time.Since(began[e.ID]))
			stored = append(stored, e.Stored.Sub(began[e.ID]))
			delete(began, e.ID)
		}
		time.Sleep(2 * time.Millisecond)
	}
	cancel()
	flooding.Wait()
	for {
		s, err := publish.Inspect(filepath.Join(u.dir, "outbox", "serve"))
		lag := strings.Contains(get(b, u.address+"/metrics"), `hooktrail_part_lag_messages{part="auditor"} 0`)
		if err == nil && s.Waiting == 0 && lag {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	slices.Sort(took)
	slices.Sort(stored)
	b.Logf("pause %v: p50 %v to the stream, %v to the ledger; p99 %v, %v", pause, stored[len(stored)/2], took[len(took)/2], stored[len(stored)*99/100], took[len(took)*99/100])
	return took[len(took)*99/100]
}

func (u *fairUp) flood(ctx context.Context, name string, pause time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		var body bytes.Buffer
		for i := range fairBatch {
			fmt.Fprintln(&body, fairEvent("flood", fmt.Sprint(name, "-", n, "-", i)))
		}
		if answer, err := http.Post(u.address+"/v1/events", "application/x-ndjson", &body); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		<-tick.C
	}
}
