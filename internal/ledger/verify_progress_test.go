package ledger

import "testing"

func TestVerify_TellsHowFarItIs(t *testing.T) {
	f, key := benchFeed(9000), testKey(t)
	path := write(t, t.TempDir(), key, f, 1000)
	var told []int64
	verify(t, path, key, VerifyOptions{Progress: func(done, total int64) {
		if total != int64(len(f.messages)) || done > total {
			t.Errorf("got %d of %d, want of %d", done, total, len(f.messages))
		}
		told = append(told, done)
	}})
	if n := len(told); n < 3 || told[n-1] != int64(len(f.messages)) {
		t.Errorf("got %d calls, the last one of %v", n, told)
	}
}
