package redact

import "strings"

const (
	minPhone = 9
	maxPhone = 15
)

func phone(text string, i int) (start, end int) {
	if i > 0 && text[i-1] == '+' {
		if preceded(text, i-1, "+)]") {
			return 0, 0 // the plus is an addition
		}
		return i - 1, international(text, i)
	}
	start = i
	if rest := text[i:]; strings.HasPrefix(rest, "1-") || strings.HasPrefix(rest, "1 ") {
		i += 2
		if strings.HasPrefix(text[i:], "(") {
			i++
		}
	}
	open := i > 0 && text[i-1] == '('
	if open {
		start = min(start, i-1)
	}
	if preceded(text, start, "+-.") {
		return 0, 0
	}
	return start, american(text[i:], i, open)
}

func american(text string, offset int, open bool) int {
	patterns := []string{"2dd-ddd-dddd", "2dd.ddd.dddd"}
	if open {
		patterns = []string{"2dd) ddd-dddd", "2dd)ddd-dddd"}
	}
	for _, pattern := range patterns {
		if looksLike(text, pattern) && !followed(text, len(pattern)) {
			return offset + len(pattern)
		}
	}
	return 0
}

// In pattern, d stands for any digit, and 2 for a digit from 2 to 9.
func looksLike(text, pattern string) bool {
	if len(text) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		switch c, p := text[i], pattern[i]; {
		case p == 'd' && isDigit(c), p == '2' && isDigit(c) && c >= p, p == c && p != '2':
		default:
			return false
		}
	}
	return true
}

// A date is not a phone number here, because a plus also marks an added line in a patch.
func international(text string, i int) (end int) {
	if text[i] == '0' || looksLike(text[i:], "dddd-dd-dd") {
		return 0
	}
	digits, between := 0, 0
	for j := i; j < len(text) && digits <= maxPhone && between <= 2; j++ {
		switch {
		case !isDigit(text[j]):
			if between++; strings.IndexByte(" -.()", text[j]) < 0 {
				return end
			}
		default:
			digits, between = digits+1, 0
			if isPhone(digits, text[i]) && !followed(text, j+1) {
				end = j + 1
			}
		}
	}
	return end
}

// North American numbers begin with 1 and have eleven digits.
func isPhone(digits int, first byte) bool {
	return minPhone <= digits && digits <= maxPhone && (first != '1' || digits == 11)
}
