package hooktrail

import (
	"context"
	"runtime/debug"
	"testing"
	"testing/synctest"
)

// Memory is returned once after work, when the process is idle again.
func TestMemoryReturn(t *testing.T) {
	var r memoryReturn
	for i, step := range []struct {
		megabytes uint64 // allocated in the interval
		due       bool
	}{
		{30, false}, {1, false}, // a start
		{500, false}, {500, false}, {15, true}, {1, false}, // an import
		{15, false}, {15, false}, {15, false}, {15, false}, {15, true}, // a little work all the time
	} {
		if due := r.isDue(r.last + step.megabytes<<20); due != step.due {
			t.Errorf("step %d: got %v, want %v", i, due, step.due)
		}
	}
}

// The settings of the process are the same afterwards, and GOGC wins.
func TestSaveMemory(t *testing.T) {
	for variable, want := range map[string]int{"": garbagePercent, "200": 77} {
		t.Setenv("GOGC", variable)
		before := debug.SetGCPercent(77)
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				saveMemory(ctx)
			}()
			synctest.Wait()
			got := debug.SetGCPercent(77)
			debug.SetGCPercent(got)
			cancel()
			<-ended
			if got != want {
				t.Errorf("GOGC=%q: got %d, want %d", variable, got, want)
			}
		})
		if got := debug.SetGCPercent(before); got != 77 {
			t.Errorf("afterwards: got %d", got)
		}
	}
}
