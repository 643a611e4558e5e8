package events

import (
	"strconv"
	"time"
)

func parseTime(s string) (t time.Time, reason string) {
	const seconds = "0000-00-00T00:00:00"
	if len(s) <= len(seconds) || !matches(s[:len(seconds)], seconds) {
		return t, "not a time of RFC 3339"
	}
	nanos, rest, ok := parseFraction(s[len(seconds):])
	if !ok {
		return t, "not a time of RFC 3339"
	}
	offset, ok := parseOffset(rest)
	if !ok {
		return t, "not a time of RFC 3339: the offset is wrong or missing"
	}
	year, month, day := number(s[0:4]), number(s[5:7]), number(s[8:10])
	hour, minute, second := number(s[11:13]), number(s[14:16]), number(s[17:19])
	if second == 60 {
		return t, "leap seconds are not supported"
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	// time.Date turns 31 April into 1 May, so compare the result.
	if t.Day() != day || int(t.Month()) != month || t.Hour() != hour || t.Minute() != minute || t.Second() != second {
		return t, "no such time"
	}
	t = t.Add(-offset)
	if !inYears(t) {
		return t, "outside the years 1 to 9999"
	}
	return t, ""
}

func inYears(t time.Time) bool {
	year := t.UTC().Year()
	return 1 <= year && year <= 9999 && !t.IsZero()
}

func parseFraction(s string) (nanos int, rest string, ok bool) {
	if s[0] != '.' {
		return 0, s, true
	}
	i := 1
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	digits := s[1:min(i, 10)]
	nanos = number(digits)
	for range 9 - len(digits) {
		nanos *= 10
	}
	return nanos, s[i:], i > 1
}

func parseOffset(s string) (time.Duration, bool) {
	switch {
	case s == "Z" || s == "z":
		return 0, true
	case !matches(s, "+00:00"):
		return 0, false
	}
	hours, minutes := number(s[1:3]), number(s[4:6])
	d := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		d = -d
	}
	return d, hours < 24 && minutes < 60
}

// In pattern, 0 stands for any digit and + for either sign.
func matches(s, pattern string) bool {
	if len(s) != len(pattern) {
		return false
	}
	for i := range len(s) {
		ok := s[i] == pattern[i]
		switch pattern[i] {
		case '0':
			ok = isDigit(s[i])
		case 'T':
			ok = ok || s[i] == 't'
		case '+':
			ok = ok || s[i] == '-'
		}
		if !ok {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the callers have checked them
	return n
}
