package agents_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
)

// everyCallIDs runs a test with both implementations.
func everyCallIDs(t *testing.T, test func(t *testing.T, pairs agents.CallIDs)) {
	t.Helper()
	t.Run("Memory", func(t *testing.T) { test(t, agents.NewCallIDs()) })
	t.Run("Dir", func(t *testing.T) { test(t, agents.SharedCallIDs(filepath.Join(t.TempDir(), "calls"))) })
}

func TestCallIDs(t *testing.T) {
	k := agents.Key{Session: "s", Call: "Bash ls"}
	everyCallIDs(t, func(t *testing.T, pairs agents.CallIDs) {
		t.Helper()
		first, second := pairs.Call(k, "b1"), pairs.Call(k, "b2")
		if first == second || first == "" || pairs.Call(k, "b1") != first {
			t.Errorf("calls %q and %q", first, second)
		}
		if got := []string{pairs.Result(k, "a1"), pairs.Result(k, "a2"), pairs.Result(k, "a1")}; !slices.Equal(got, []string{first, second, first}) {
			t.Errorf("results of %q, want %q and %q", got, first, second)
		}
		early := pairs.Result(k, "a3")
		if got := pairs.Call(k, "b3"); got != early || got == second {
			t.Errorf("a call after its result is %q, want %q", got, early)
		}
		denied := pairs.Call(k, "b4")
		if pairs.IsDenied(k) {
			t.Error("nothing is denied yet")
		}
		pairs.Denied(k, denied)
		allowed := pairs.Call(k, "b5")
		if got := pairs.Result(k, "a5"); got != allowed || !pairs.IsDenied(k) {
			t.Errorf("the result is of %q, want %q and not the denied %q", got, allowed, denied)
		}
		if unmarked := pairs.Call(k, ""); unmarked == pairs.Call(k, "") {
			t.Error("two calls without a mark are one")
		}
		other := agents.Key{Session: "t", Call: k.Call}
		if pairs.Call(other, "b1") == first || pairs.IsDenied(other) {
			t.Error("two sessions share calls")
		}
		foreign := agents.Key{Session: "s", Call: "id t"}
		pairs.Denied(foreign, "t")
		if !pairs.IsDenied(foreign) {
			t.Error("a denial of a call with an id is not kept")
		}
	})
}

// TestCallIDs_AnyOrder checks that every call finds its result in any order and
// with repetitions.
func TestCallIDs_AnyOrder(t *testing.T) {
	k := agents.Key{Session: "s", Call: "Bash ls"}
	rapid.Check(t, func(rt *rapid.T) {
		pairs := agents.NewCallIDs()
		n := rapid.IntRange(1, 6).Draw(rt, "calls")
		var all []int
		for i := range n {
			all = append(all, i, i, -i-1, -i-1)
		}
		calls, results := map[string]bool{}, map[string]bool{}
		for _, i := range rapid.Permutation(all).Draw(rt, "order") {
			if i >= 0 {
				calls[pairs.Call(k, fmt.Sprint("b", i))] = true
			} else {
				results[pairs.Result(k, fmt.Sprint("a", i))] = true
			}
		}
		for id := range calls {
			if !results[id] || len(calls) != n || len(results) != n {
				rt.Fatalf("%d calls, %d results, want %d of both", len(calls), len(results), n)
			}
		}
	})
}

// TestCallIDs_Together checks that concurrent calls get different ids.
func TestCallIDs_Together(t *testing.T) {
	const calls = 16
	k := agents.Key{Session: "s", Call: "Bash ls"}
	everyCallIDs(t, func(t *testing.T, pairs agents.CallIDs) {
		t.Helper()
		ids := make([]string, calls)
		var wg sync.WaitGroup
		for i := range calls {
			wg.Go(func() { ids[i] = pairs.Call(k, fmt.Sprint(i)) })
		}
		wg.Wait()
		slices.Sort(ids)
		if n := len(slices.Compact(ids)); n != calls {
			t.Errorf("%d calls have %d ids", calls, n)
		}
	})
}

// TestSharedCallIDs_Processes checks that processes share their calls.
func TestSharedCallIDs_Processes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	k := agents.Key{Session: "s", Call: "Bash ls"}
	agents.SharedCallIDs(dir).Call(k, "b1")
	second := agents.SharedCallIDs(dir).Call(k, "b2")
	agents.SharedCallIDs(dir).Result(k, "a1")
	if got := agents.SharedCallIDs(dir).Result(k, "a2"); got != second {
		t.Errorf("the second result is of %q, want %q", got, second)
	}
}

// TestSharedCallIDs_Broken checks that the first call of a key finds its result
// without a usable file.
func TestSharedCallIDs_Broken(t *testing.T) {
	k := agents.Key{Session: "s", Call: "Bash ls"}
	t.Run("Torn", func(t *testing.T) {
		dir := t.TempDir()
		call := agents.SharedCallIDs(dir).Call(k, "b1")
		files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		if err := os.WriteFile(files[0], []byte(`[{"c":`), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := agents.SharedCallIDs(dir).Result(k, "a1"); got != call {
			t.Errorf("got %q, want %q", got, call)
		}
	})
	t.Run("NotAFolder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		pairs := agents.SharedCallIDs(file)
		if call, result := pairs.Call(k, "b1"), pairs.Result(k, "a1"); call != result || call == "" || pairs.IsDenied(k) {
			t.Errorf("call %q, result of %q", call, result)
		}
	})
}

// TestSharedCallIDs_Sweeps checks that a new session removes old folders.
func TestSharedCallIDs_Sweeps(t *testing.T) {
	dir := t.TempDir()
	pairs := agents.SharedCallIDs(dir)
	pairs.Call(agents.Key{Session: "old"}, "b")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	old := filepath.Join(dir, entries[0].Name())
	before := time.Now().Add(-8 * 24 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	pairs.Call(agents.Key{Session: "new"}, "b")
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("the folder of an old session is there: %v", err)
	}
}

func BenchmarkSharedCallIDs(b *testing.B) {
	pairs := agents.SharedCallIDs(b.TempDir())
	for i := 0; b.Loop(); i++ {
		pairs.Call(agents.Key{Session: "s", Call: fmt.Sprint(i)}, "b")
	}
}
