package auditor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Memory and descriptors stay bounded while many tenants send. HOOKTRAIL_TEST_TENANTS=1000 and
// HOOKTRAIL_TEST_EVENTS=100 set the full size. internal/evidence/ledger/writer.TestSet_Each has
// more tenants than stay open.
//
//guarantee:many-tenants
func TestRun_ThousandTenants(t *testing.T) {
	tenants, each := fromEnv("HOOKTRAIL_TEST_TENANTS", 80), fromEnv("HOOKTRAIL_TEST_EVENTS", 20)
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "shared", "")
	for i := range each {
		for tenant := range tenants {
			e, err := events.New(events.ToolBefore, "/test", events.ToolBeforeData{Tool: "Bash", Args: []byte(`{"command":"ls"}`)})
			if err != nil {
				t.Fatal(err)
			}
			e.Tenant, e.Run, e.ToolCall = fmt.Sprintf("tenant-%04d", tenant), "r", strconv.Itoa(i)
			if _, err := p.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Flush(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	before := usage(t)
	began, most := time.Now(), watch(t, func() { drain(t, b, dir) })
	took := time.Since(began)
	t.Logf("%d tenants, %d events each: %v, %.0f events/s; descriptors %d before, at most %d; heap %d MiB before, at most %d",
		tenants, each, took.Round(time.Millisecond), float64(tenants*each)/took.Seconds(),
		before.descriptors, most.descriptors, before.heap>>20, most.heap>>20)
	if most.descriptors > before.descriptors+5000 || most.heap > before.heap+512<<20 {
		t.Errorf("descriptors %d, heap %d", most.descriptors, most.heap)
	}
	for _, i := range []int{0, tenants / 2, tenants - 1} {
		r := auditortest.Verify(t, dir, fmt.Sprintf("tenant-%04d", i))
		if r.Integrity != verifier.Verified || len(r.Gaps) > 0 || r.Events != int64(each) {
			t.Errorf("tenant %d: got %+v", i, r)
		}
	}
}

func fromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

type used struct {
	descriptors int
	heap        uint64
}

func usage(tb testing.TB) used {
	tb.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Skip("descriptors cannot be counted here")
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return used{len(files), m.HeapInuse}
}

// watch returns the peak usage while work runs.
func watch(tb testing.TB, work func()) (most used) {
	tb.Helper()
	ctx, stop := context.WithCancel(tb.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		clock := time.NewTicker(20 * time.Millisecond)
		defer clock.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-clock.C:
				now := usage(tb)
				most.descriptors, most.heap = max(most.descriptors, now.descriptors), max(most.heap, now.heap)
			}
		}
	})
	work()
	stop()
	wg.Wait()
	return most
}
