package redact

import (
	"slices"
	"strings"
)

var layouts = [...][]int{{4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}, {4, 4, 4, 4, 3}}

func card(text string, i int) int {
	if text[i] < '2' || text[i] > '6' || preceded(text, i, ".-") {
		return 0 // no card scheme begins with another digit
	}
	run := i
	for run < len(text) && run < i+20 && isDigit(text[run]) {
		run++
	}
	if isCard(text[i:run]) && !followed(text, run) {
		return run
	}
	for _, layout := range layouts {
		if digits, end := groups(text, i, layout); isCard(digits) && !followed(text, end) {
			return end
		}
	}
	return 0
}

func groups(text string, i int, layout []int) (digits string, end int) {
	var (
		all       []byte
		separator byte
	)
	for n, size := range layout {
		if n > 0 {
			if i >= len(text) || text[i] != ' ' && text[i] != '-' || n > 1 && text[i] != separator {
				return "", 0
			}
			separator = text[i]
			i++
		}
		if len(text) < i+size || !allDigits(text[i:i+size]) {
			return "", 0
		}
		all = append(all, text[i:i+size]...)
		i += size
	}
	return string(all), i
}

var schemes = [...]struct {
	from, to string
	lengths  []int
}{
	{"4000", "4999", []int{13, 16, 19}}, // Visa
	{"5100", "5599", []int{16}},         // Mastercard
	{"2221", "2720", []int{16}},
	{"3400", "3499", []int{15}}, // American Express
	{"3700", "3799", []int{15}},
	{"3000", "3059", []int{14}}, // Diners Club
	{"3600", "3699", []int{14}},
	{"3800", "3999", []int{14}},
	{"6000", "6999", []int{16, 17, 18, 19}}, // Discover, UnionPay, Maestro
	{"5000", "5099", []int{16, 17, 18, 19}},
	{"5600", "5899", []int{16, 17, 18, 19}},
	{"3528", "3589", []int{16, 17, 18, 19}}, // JCB
}

func isCard(digits string) bool {
	for _, s := range schemes {
		if slices.Contains(s.lengths, len(digits)) && s.from <= digits[:4] && digits[:4] <= s.to {
			return luhn(digits)
		}
	}
	return false
}

func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

const ibanLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27" +
	"GB22GE22GI23GL18GR27GT28HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27" +
	"MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30"

func ibanLength(country string) int {
	if country[0] < 'A' || country[0] > 'Z' || country[1] < 'A' || country[1] > 'Z' {
		return 0
	}
	for i := 0; i < len(ibanLengths); i += 4 {
		if ibanLengths[i:i+2] == country {
			return int(ibanLengths[i+2]-'0')*10 + int(ibanLengths[i+3]-'0')
		}
	}
	return 0
}

func iban(text string, i int) (start, end int) {
	start = i - 2
	if start < 0 || preceded(text, start, "") {
		return 0, 0
	}
	length := ibanLength(text[start:i])
	if length == 0 {
		return 0, 0
	}
	all, end := together(text, start, length)
	if end == 0 || end < len(text) && isWord(text[end]) || !isChecked(all) {
		return 0, 0
	}
	return start, end
}

func together(text string, i, length int) (all []byte, end int) {
	for ; len(all) < length; i++ {
		if n := len(all); n > 0 && n%4 == 0 && strings.HasPrefix(text[i:], " ") {
			i++
		}
		if i >= len(text) || !isDigit(text[i]) && !isUpper(text[i]) {
			return nil, 0
		}
		all = append(all, text[i])
	}
	return all, i
}

func isChecked(iban []byte) bool {
	rest := 0
	for _, c := range slices.Concat(iban[4:], iban[:4]) {
		if isUpper(c) {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest == 1 && allDigits(string(iban[2:4]))
}
