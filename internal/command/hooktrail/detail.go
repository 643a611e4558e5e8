package hooktrail

import (
	"fmt"
	"strconv"
	"time"
)

const maxDetail = 500

func duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", ms)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", ms/1000)
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", ms/60_000, ms/1000%60)
	}
	return fmt.Sprintf("%dh %dm", ms/3_600_000, ms/60_000%60)
}

func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(int64(n)) + " " + one + "s"
}
