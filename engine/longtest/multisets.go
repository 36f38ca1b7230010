package longtest

// Multisets calls do with every multiset of at most n of the numbers from 0 to k-1. Each call has the numbers in
// ascending order. do must not keep its argument.
func Multisets(k, n int, do func([]int)) {
	var chosen []int
	var choose func(from int)
	choose = func(from int) {
		do(chosen)
		if len(chosen) == n {
			return
		}
		for i := from; i < k; i++ {
			chosen = append(chosen, i)
			choose(i)
			chosen = chosen[:len(chosen)-1]
		}
	}
	choose(0)
}
