"""A small web shop: catalog, cart, coupons, stock, payment and orders."""
