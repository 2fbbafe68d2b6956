SELECT {followed}
