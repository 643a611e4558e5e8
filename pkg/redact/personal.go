package redact

import (
	"net/netip"
	"strings"
)

type personal struct{ email, card, iban, phone, ip bool }

func newPersonal(on func(id string) bool) personal {
	return personal{email: on(Email), card: on(Card), iban: on(IBAN), phone: on(Phone), ip: on(IP)}
}

func (p personal) find(list []finding, text string) []finding {
	if p.email {
		list = findEmails(list, text)
	}
	if p.ip {
		list = findIPv6(list, text)
	}
	if p.card || p.iban || p.phone || p.ip {
		list = p.findNumbers(list, text)
	}
	return list
}

func (p personal) findNumbers(list []finding, text string) []finding {
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		f := p.numberAt(text, i)
		if f.end > i {
			list = append(list, f)
			i = f.end
			continue
		}
		for i+1 < len(text) && isDigit(text[i+1]) {
			i++
		}
	}
	return list
}

func (p personal) numberAt(text string, i int) finding {
	if p.iban {
		if start, end := iban(text, i); end > 0 {
			return finding{rule: IBAN, start: start, end: end}
		}
	}
	if p.ip {
		if end := ipv4(text, i); end > 0 {
			return finding{rule: IP, start: i, end: end}
		}
	}
	if p.card {
		if end := card(text, i); end > 0 {
			return finding{rule: Card, start: i, end: end}
		}
	}
	if p.phone {
		if start, end := phone(text, i); end > 0 {
			return finding{rule: Phone, start: start, end: end}
		}
	}
	return finding{}
}

// A Git address such as "git@host:path" is not an e-mail address.
func findEmails(list []finding, text string) []finding {
	free := 0 // the next address cannot begin before this position
	for at := 0; ; at++ {
		n := strings.IndexByte(text[at:], '@')
		if n < 0 {
			return list
		}
		at += n
		start := at
		for start > free && isLocal(text[start-1]) {
			start--
		}
		for start < at && strings.IndexByte(".-+'", text[start]) >= 0 {
			start++
		}
		end := hostEnd(text, at+1)
		git := text[start:at] == "git" && strings.HasPrefix(text[max(end, 0):], ":")
		if start < at && text[at-1] != '.' && end > 0 && !git {
			list = append(list, finding{rule: Email, start: start, end: end})
		}
		free = at + 1
	}
}

func hostEnd(text string, i int) (end int) {
	numbers := 0
	for n := 0; ; n++ {
		name := label(text, i)
		if name == "" || name[0] == '-' {
			return end
		}
		top := name
		if !strings.HasPrefix(name, "xn--") {
			top, _, _ = strings.Cut(name, "-")
		}
		if n > 0 && isTop(top) && (n == 1 || numbers < n) {
			end = i + len(top)
		}
		if allDigits(name) {
			numbers++
		}
		if i += len(name); i == len(text) || text[i] != '.' {
			return end
		}
		i++
	}
}

func label(text string, i int) string {
	end := i
	for end < len(text) && (isAlphanumeric(text[end]) || text[end] == '-') {
		end++
	}
	return text[i:end]
}

func isTop(label string) bool {
	if strings.HasPrefix(label, "xn--") {
		return true
	}
	for i := range len(label) {
		if !isLetter(label[i]) {
			return false
		}
	}
	return len(label) >= 2
}

func ipv4(text string, i int) int {
	if preceded(text, i, ".") {
		return 0
	}
	end := i
	for end < len(text) && end <= i+len("255.255.255.255") && (isDigit(text[end]) || text[end] == '.') {
		end++
	}
	candidate := strings.TrimRight(text[i:end], ".")
	if end = i + len(candidate); followed(text, end) {
		return 0
	}
	ip, err := netip.ParseAddr(candidate)
	if err != nil || !isPersonal(ip) || strings.HasSuffix(candidate, ".0.0.0") {
		return 0 // ".0.0.0" at the end means a network or a browser version
	}
	return end
}

func findIPv6(list []finding, text string) []finding {
	for at := 0; ; at++ {
		n := strings.IndexByte(text[at:], ':')
		if n < 0 {
			return list
		}
		at += n
		if end := ipv6(text, at); end > 0 {
			list = append(list, finding{rule: IP, start: at - 4, end: end})
			at = end - 1
		}
	}
}

func ipv6(text string, i int) int {
	start, end := i-4, i
	if start < 0 || !isHex(text[start:i]) || preceded(text, start, ":") {
		return 0
	}
	most := min(len(text), start+len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"))
	for end < most && strings.IndexByte(hexDigits+":.", text[end]) >= 0 {
		end++
	}
	candidate := strings.TrimRight(text[start:end], ".")
	if !strings.HasSuffix(candidate, "::") {
		candidate = strings.TrimSuffix(candidate, ":")
	}
	end = start + len(candidate)
	ip, err := netip.ParseAddr(candidate)
	if err != nil || end < len(text) && isWord(text[end]) || !isPersonal(ip) {
		return 0
	}
	return end
}

func isPersonal(ip netip.Addr) bool {
	if first := ip.AsSlice()[0]; ip.Is4() {
		return !ip.IsLoopback() && !ip.IsUnspecified() && !ip.IsMulticast() && first < 240
	}
	global := netip.MustParsePrefix("2000::/3")
	return global.Contains(ip) || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}

func preceded(text string, i int, others string) bool {
	return i > 0 && (isWord(text[i-1]) || strings.IndexByte(others, text[i-1]) >= 0)
}

func followed(text string, i int) bool {
	if i < len(text) && (text[i] == '-' || text[i] == '.') {
		i++
		return i < len(text) && isAlphanumeric(text[i])
	}
	return i < len(text) && isWord(text[i])
}

const hexDigits = "0123456789abcdefABCDEF"

func isDigit(c byte) bool        { return '0' <= c && c <= '9' }
func isLetter(c byte) bool       { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isUpper(c byte) bool        { return 'A' <= c && c <= 'Z' }
func isAlphanumeric(c byte) bool { return isDigit(c) || isLetter(c) }
func isWord(c byte) bool         { return isAlphanumeric(c) || c == '_' }
func isLocal(c byte) bool        { return isAlphanumeric(c) || strings.IndexByte("._%+'-", c) >= 0 }

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
func isHex(s string) bool     { return strings.Trim(s, hexDigits) == "" }
