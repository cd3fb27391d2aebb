#include "cart.h"

/* Adds an item.
 * Returns 0. */
int cart_add(struct cart *cart, const char *name)
{
    if (cart == NULL) {
        return log_error("no cart");
    }
    return 0;
}

static void cart_free(struct cart *cart);
