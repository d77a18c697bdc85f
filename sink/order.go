package sink

// Key is a foreign key between two tables of a group, by their indexes.
type Key struct{ From, To int }

// OrderByKeys returns an order of n tables in which those to which others refer come first, and which of the keys that
// does not suit: those in circles, also of a table that refers to itself. It is the algorithm of Tarjan (Depth-first
// search and linear graph algorithms, 1972), which completes a circle after all that can be reached from it.
func OrderByKeys(n int, keys []Key) (order []int, isCircular []bool) {
	refers := make([][]int, n)
	for _, key := range keys {
		refers[key.From] = append(refers[key.From], key.To)
	}
	number, low, circle := make([]int, n), make([]int, n), make([]int, n) // from 1; 0 is none yet
	var path []int
	numbers, circles := 0, 0
	var visit func(i int)
	visit = func(i int) {
		numbers++
		number[i], low[i] = numbers, numbers
		path = append(path, i)
		for _, to := range refers[i] {
			switch {
			case number[to] == 0:
				visit(to)
				low[i] = min(low[i], low[to])
			case circle[to] == 0:
				low[i] = min(low[i], number[to])
			}
		}
		if low[i] < number[i] {
			return
		}
		circles++
		for last := -1; last != i; {
			last = path[len(path)-1]
			path = path[:len(path)-1]
			circle[last] = circles
			order = append(order, last)
		}
	}
	for i := range n {
		if number[i] == 0 {
			visit(i)
		}
	}
	isCircular = make([]bool, len(keys))
	for k, key := range keys {
		isCircular[k] = circle[key.From] == circle[key.To]
	}
	return order, isCircular
}
