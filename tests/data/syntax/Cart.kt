package shop

import shop.model.Item

/** A cart of items. Not thread safe. */
data class Cart(val items: List<Item>) {
    // Adds up.
    fun total(rate: Double): Double {
        return items.sumOf { it.price } * rate // "not // a string"
    }
}

enum class State { OPEN, CLOSED }

fun Cart.isEmpty() = items.isEmpty()
