package hooktrail

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	garbagePercent = 50 // of the memory in use, half the default

	memoryInterval = 15 * time.Second // longer than the NATS server caches messages
	idleBytes      = 16 << 20         // allocations per interval of a process without work
	returnBytes    = 64 << 20         // allocations that make a return worthwhile
)

func savingMemory(ctx context.Context, run func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	var saving sync.WaitGroup
	saving.Go(func() { saveMemory(ctx) })
	defer saving.Wait()
	defer cancel()
	return run()
}

// saveMemory returns memory to the system after work such as an import, because an idle process
// collects no garbage for two minutes.
func saveMemory(ctx context.Context) {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	}
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	var r memoryReturn
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if r.isDue(allocatedBytes()) {
			runtime.GC() // a sync.Pool keeps its content for one collection
			debug.FreeOSMemory()
		}
	}
}

func allocatedBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

type memoryReturn struct{ last, returned uint64 }

func (r *memoryReturn) isDue(allocated uint64) bool {
	idle := allocated-r.last < idleBytes
	r.last = allocated
	if !idle || allocated-r.returned < returnBytes {
		return false
	}
	r.returned = allocated
	return true
}
