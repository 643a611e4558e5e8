package quota_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/quota"
)

func TestQuotas_Nil(t *testing.T) {
	var q *quota.Quotas
	q.Charge("acme", "r", 1<<30)
	if err := q.Check("acme", "r"); err != nil {
		t.Error(err)
	}
	q = quota.New(quota.Limits{})
	for range 1000 {
		q.Charge("acme", "", 1<<30)
	}
	if err := q.Check("acme", "r"); err != nil {
		t.Error(err)
	}
}

// A factor multiplies the limits of its tenant, and 0 removes them.
func TestQuotas_Factors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quota.New(quota.Limits{Events: 10, Burst: 2 * time.Second, Factors: map[string]int{"ten": 10, "free": 0}})
		for tenant, want := range map[string]int{"acme": 20, "ten": 200, "free": 5000} {
			n := 0
			for ; n < 5000 && q.Check(tenant, "") == nil; n++ {
				q.Charge(tenant, "", 100)
			}
			if n != want {
				t.Errorf("%s: %d events at once, want %d", tenant, n, want)
			}
		}
		var exceeded *quota.ExceededError
		if err := q.Check("ten", ""); !errors.As(err, &exceeded) || !strings.Contains(err.Error(), `"ten" sends more than 100 events per second (--rate-limit)`) {
			t.Errorf("got %v", err)
		}
		time.Sleep(exceeded.RetryAfter + time.Millisecond)
		if err := q.Check("ten", ""); err != nil {
			t.Errorf("after %v: %v", exceeded.RetryAfter, err)
		}
	})
}

// Only the first event of a run counts as a new run, even after thousands of other
// runs.
func TestQuotas_Runs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quota.New(quota.Limits{Runs: 1000, Burst: 4 * time.Second})
		for range 5 {
			for i := range 4000 {
				run := fmt.Sprintf("run-%d", i)
				if err := q.Check("acme", run); err != nil {
					t.Fatal(err)
				}
				q.Charge("acme", run, 0)
			}
		}
		if err := q.Check("acme", "another"); err == nil {
			t.Error("no limit for new runs")
		}
		if err := q.Check("acme", ""); err != nil {
			t.Errorf("an event without a run: %v", err)
		}
	})
}

// Any number of tenants needs little memory. Tenants beyond a number share their
// limits, and earlier tenants keep separate ones.
func TestQuotas_ManyTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quota.New(quota.Limits{Events: 1, Burst: 100 * time.Second})
		q.Charge("early", "r", 1)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		refused := 0
		for i := range 100_000 {
			tenant := fmt.Sprintf("tenant-%d", i)
			if q.Check(tenant, "r") != nil {
				refused++
				continue
			}
			q.Charge(tenant, "r", 1)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
			t.Errorf("the tenants take %d bytes", grown)
		}
		if refused < 90_000 {
			t.Errorf("%d of 100000 tenants were refused", refused)
		}
		if err := q.Check("early", ""); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if err := q.Check("tenant-99999", ""); err != nil {
			t.Errorf("an idle tenant keeps its place: %v", err)
		}
		runtime.KeepAlive(q)
	})
}

func TestLimits_Validate(t *testing.T) {
	for flag, l := range map[string]quota.Limits{
		"--rate-limit": {Events: -1}, "--rate-bytes": {Bytes: -1}, "--rate-runs": {Runs: -1},
		"--rate-burst": {Burst: -1}, "--rate-factor": {Factors: map[string]int{"acme": -1}},
	} {
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("got %v, want %s named", err, flag)
		}
	}
	if err := quota.Default().Validate(); err != nil {
		t.Error(err)
	}
}
