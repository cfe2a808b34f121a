package redact

import "slices"

// cards finds bank and credit card numbers of a known issuer and with a correct check digit: ungrouped, or in groups as
// on a card: 4-4-4-4, 4-4-4-4-3, 4-6-5, 6-13. A separate number in 4-4-4-4 form is considered a card even with a wrong
// check digit: somebody may have mistyped it.
func cards(text []byte, runs []run) []span {
	const longest = 19
	var found []span
	var d []byte
	for i := range runs {
		d = d[:0]
		for j := i; j < len(runs) && (j == i || runs[j].gap.plain() && cardGroup(runs[j-1], j-1 == i)); j++ {
			if d = appendDigits(d, text, runs[j]); len(d) > longest {
				break
			}
			// Digits after a decimal point are not a card number.
			if i == j && isFraction(text, runs[i]) {
				continue
			}
			if kind := issuer(d); kind != 0 && (validLuhn(d) || likeOnCard(text, runs, i, j)) {
				found = append(found, span{runs[i].start, runs[j].end, kind})
			}
		}
	}
	return found
}

// likeOnCard reports whether the runs i to j are four groups of four digits, and not part of anything longer.
func likeOnCard(text []byte, runs []run, i, j int) bool {
	if j-i != 3 || !numberStarts(text, runs[i].start) || !numberEnds(text, runs[j].end) ||
		precededBy(text, runs[i].start, orderWords) {
		return false
	}
	sep, rising := runs[j].gap, true
	for k := i; k <= j; k++ {
		if runs[k].len() != 4 || k > i && runs[k].gap != sep {
			return false
		}
		rising = rising && (k == i ||
			string(text[runs[k].start:runs[k].end]) > string(text[runs[k-1].start:runs[k-1].end]))
	}
	if sep == spaced {
		return !rising && standsAlone(runs, i, j) // 4000 4100 4200 4300 are four separate numbers
	}
	return runs[i].gap != sep && (j+1 == len(runs) || runs[j+1].gap != sep)
}

// cardGroup reports whether another group may follow this one.
func cardGroup(r run, first bool) bool {
	return r.len() == 4 || r.len() == 6 || !first && r.len() == 5
}

// validLuhn reports whether the last digit is the check digit of the others (ISO/IEC 7812).
func validLuhn(d []byte) bool {
	sum := 0
	for i, c := range d {
		n := int(c - '0')
		if (len(d)-i)%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// issuers are ranges of leading digits with the lengths of the numbers. The first match counts. International brands
// may issue numbers of 19 digits, too, but rarely do; most numbers of that length are 64-bit integers.
var issuers = []struct {
	kind    Policy
	low     string
	high    string
	lengths []int
}{
	{BankCard, "62", "62", []int{16, 17, 18, 19}}, // UnionPay
	{BankCard, "81", "81", []int{16}},             // UnionPay, since 2015
	{BankCard, "9558", "9559", []int{16, 19}},     // of single banks of China, before UnionPay
	{BankCard, "6013", "6014", []int{16, 19}},
	{BankCard, "603", "603", []int{16, 18, 19}},
	{BankCard, "6858", "6858", []int{16, 19}},
	{BankCard, "690755", "690755", []int{15, 18}},
	{BankCard, "9843", "9843", []int{16, 19}},
	{CreditCard, "4", "4", []int{13, 16}},   // Visa
	{CreditCard, "51", "55", []int{16}},     // Mastercard
	{CreditCard, "2221", "2720", []int{16}}, // Mastercard, since 2017
	{CreditCard, "34", "34", []int{15}},     // American Express
	{CreditCard, "37", "37", []int{15}},     // American Express
	{CreditCard, "6011", "6011", []int{16}}, // Discover
	{CreditCard, "644", "649", []int{16}},   // Discover
	{CreditCard, "65", "65", []int{16}},     // Discover
	{CreditCard, "3528", "3589", []int{16}}, // JCB
	{CreditCard, "300", "305", []int{14}},   // Diners Club
	{CreditCard, "3095", "3095", []int{14}}, // Diners Club
	{CreditCard, "36", "36", []int{14}},     // Diners Club
	{CreditCard, "38", "39", []int{14}},     // Diners Club
	{CreditCard, "5018", "5018", []int{16}}, // Maestro
	{CreditCard, "5020", "5020", []int{16}}, // Maestro
	{CreditCard, "5038", "5038", []int{16}}, // Maestro
	{CreditCard, "6304", "6304", []int{16}}, // Maestro
	{CreditCard, "6759", "6763", []int{16}}, // Maestro
	{CreditCard, "2200", "2204", []int{16}}, // Mir
	{CreditCard, "508", "508", []int{16}},   // RuPay
}

// issuer is the kind of card that a number can belong to; 0 = none.
func issuer(d []byte) Policy {
	for _, r := range issuers {
		if n := len(r.low); len(d) > n && string(d[:n]) >= r.low && string(d[:n]) <= r.high &&
			slices.Contains(r.lengths, len(d)) {
			return r.kind
		}
	}
	return 0
}
